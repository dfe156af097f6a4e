#include "decode/processor.h"
#include "decode/sampler_option.h"
#include "server/generation_fields.h"
#include "server/limits.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

// Both spellings of an option may come, as some clients send them, if they say the same.
Result<void> give(Fields& f, const OptionSpec& option, const std::string& name, double value) {
  if (const auto given = f.given.find(option.name); given && *given != value) {
    return make_error(ErrorCode::kInvalidArgument, name, "{} is {} and {} is {}: they are one option", option.name,
                      *given, option.alias, value);
  }
  f.given.set(option.name, value);
  return {};
}

void add_field(GenerationSchema& schema, const OptionSpec& option, const std::string& name, std::string about) {
  if (option.kind == OptionSpec::Kind::kWhole) {
    const auto low = static_cast<std::int64_t>(option.low), high = static_cast<std::int64_t>(option.high);
    schema.field(name, std::move(about), GenerationSchema::integer_shape(low, high),
                 [option, name, low, high](Fields& f, const Json& value) -> Result<void> {
                   const auto x = GenerationSchema::read_integer(name, value, low, high);
                   if (!x) return x.error();
                   return give(f, option, name, static_cast<double>(*x));
                 });
    return;
  }
  const Range range{option.low, option.high, option.above_low};
  schema.field(name, std::move(about), GenerationSchema::number_shape(range),
               [option, name, range](Fields& f, const Json& value) -> Result<void> {
                 const auto x = GenerationSchema::read_number(name, value, range);
                 if (!x) return x.error();
                 return give(f, option, name, *x);
               });
}

Result<void> read_samplers(Fields& f, const Json& value) {
  const auto is_string = [](const Json& one) { return one.is_string(); };
  if (!value.is_array() || value.empty() || !std::ranges::all_of(value, is_string)) {
    return GenerationSchema::wrong_type("samplers", "a list of names");
  }
  if (value.size() > decode::sampler_names().size()) {
    return make_error(ErrorCode::kInvalidArgument, "samplers", "samplers has {} names: there are {}", value.size(),
                      decode::sampler_names().size());
  }
  f.samplers = value.get<std::vector<std::string>>();
  return {};
}

}  // namespace

void add_sampler_field(GenerationSchema& schema, const OptionSpec& option) {
  add_field(schema, option, std::string(option.name), std::string(option.help));
  if (option.alias.empty()) return;
  add_field(schema, option, std::string(option.alias), fmt::format("Alias of {} (llama-server)", option.name));
}

void add_sampler_fields(GenerationSchema& schema) {
  for (const decode::SamplerOption* option : decode::all_sampler_options()) add_sampler_field(schema, option->spec);
  schema.field("dry_sequence_breakers", "DRY: texts that no repetition extends across",
               {{"type", {"array", "null"}},
                {"items", {{"type", "string"}, {"minLength", 1}, {"maxLength", L::kBreakerLength}}},
                {"maxItems", L::kBreakers}},
               [](Fields& f, const Json& value) -> Result<void> {
                 if (!value.is_array()) {
                   return GenerationSchema::wrong_type("dry_sequence_breakers", "a list of strings");
                 }
                 auto read = read_strings("dry_sequence_breakers", value, L::kBreakers, L::kBreakerLength);
                 if (!read) return read.error();
                 f.dry_sequence_breakers = std::move(*read);
                 return {};
               });
  Json names = Json::array();
  for (const decode::Processor& p : decode::all_processors()) {
    if (!p.name.empty()) names.push_back(p.name);
    if (!p.alias.empty()) names.push_back(p.alias);
  }
  schema.field("samplers", "Which samplers there are and in which order, after bans and bias",
               {{"type", {"array", "null"}},
                {"items", {{"type", "string"}, {"enum", std::move(names)}}},
                {"minItems", 1},
                {"uniqueItems", true},
                {"maxItems", decode::sampler_names().size()}},
               read_samplers);
}

}  // namespace millrace::server
