#include "chat/grammar_flags.h"

#include "base/env.h"
#include "cli.h"
#include "grammar/language.h"

namespace millrace::app {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;  // of a file; grammars have a limit of their own

}  // namespace

void GrammarFlags::declare(CLI::App& app) {
  auto* group = app.add_option_group("Structured output");
  group->add_option("-j,--json-schema", json_schema, "Constrain the completion to JSON that matches this JSON schema");
  group
      ->add_option("--json-schema-file", json_schema_file,
                   "Constrain the completion to JSON that matches the JSON schema in this file")
      ->type_name("FILE");
  group->add_flag("--json-object", json_object, "Constrain the completion to a JSON object");
  group->add_option("--grammar", grammar, "Constrain the completion to this grammar, written in GBNF or Lark");
  group->add_option("--grammar-file", grammar_file, "Constrain the completion to the GBNF or Lark grammar in this file")
      ->type_name("FILE");
  group->add_option("--regex", regex, "Constrain the whole completion to this regular expression");
  group->require_option(0, 1);
}

std::optional<GrammarFlags::Asked> GrammarFlags::asked() const {
  const auto text_of = [](const std::string& file) { return read_file(Env::system(), file, kMaxBytes).or_throw(); };
  if (!json_schema.empty()) return Asked{"json-schema", {.language = "json_schema", .text = json_schema}};
  if (!json_schema_file.empty()) {
    return Asked{"json-schema-file", {.language = "json_schema", .text = text_of(json_schema_file)}};
  }
  if (json_object) return Asked{"json-object", {.language = "json_object", .text = ""}};
  if (!grammar.empty()) return Asked{"grammar", {.language = "ebnf", .text = grammar}};
  if (!grammar_file.empty()) return Asked{"grammar-file", {.language = "ebnf", .text = text_of(grammar_file)}};
  if (!regex.empty()) return Asked{"regex", {.language = "regex", .text = regex}};
  return std::nullopt;
}

std::shared_ptr<grammar::CompiledGrammar> GrammarFlags::compile(
    std::shared_ptr<const text::Tokenizer> tokenizer) const {
  const auto wanted = asked();
  if (!wanted) return nullptr;
  grammar::WorkMeter meter;
  const auto read = grammar::read_grammar(wanted->source, meter);
  if (!read) throw_load_error(read.error().code, wanted->flag, "--{}: {}", wanted->flag, read.error().message);
  auto compiled = grammar::compile(*read, grammar::make_vocabulary(std::move(tokenizer)), meter);
  if (!compiled)
    throw_load_error(compiled.error().code, wanted->flag, "--{}: {}", wanted->flag, compiled.error().message);
  return *std::move(compiled);
}

}  // namespace millrace::app
