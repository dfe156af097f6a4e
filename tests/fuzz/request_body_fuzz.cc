// Any bytes as the body of each route that takes a prompt: an error of the client's that names a field, or a task that
// keeps to the limits of the API and of the model. The first byte chooses the route, the second the model.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "server/answer_grammar.h"
#include "server/generation.h"
#include "server/generation_handler.h"
#include "server/limits.h"
#include "server/model_profile.h"
#include "server/route.h"
#include "text/testing/vocabularies.h"

namespace millrace::server {

// Routes name these as their handlers. The real ones bring the whole engine with them; here bodies are only read.
std::unique_ptr<http::Responder> generate(ServerContext&, const GenerationRoute&, Call) { return nullptr; }
std::unique_ptr<http::Responder> answer_prompt(ServerContext&, const PromptRoute&, Call) { return nullptr; }

}  // namespace millrace::server

namespace millrace::server::routes {

Route chat_completions();
Route completions();
Route embeddings();
Route messages();
Route messages_count_tokens();
Route responses();
Route tokenize();

}  // namespace millrace::server::routes

namespace {

using namespace millrace;
using namespace millrace::server;

constexpr std::int64_t kMaxLength = 4096;

constexpr std::string_view kTemplate = R"({%- if tools %}<|s|>tools
{{ tools | tojson }}<|e|>
{% endif %}{%- for m in messages %}<|s|>{{ m.role }}
{% if m.content %}{{ m.content }}{% endif %}{% for call in m.tool_calls or [] %}<tool_call>{{ call | tojson }}</tool_call>
{%- endfor %}<|e|>
{% endfor %}{% if add_generation_prompt %}<|s|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}{% endif %})";

// With tokens for all that a request may ask of a vocabulary.
std::shared_ptr<const text::Tokenizer> tokenizer_with_marks() {
  text::GgufVocabulary vocabulary = text::small_byte_level_vocabulary("gpt2");
  for (const char* mark : {"<think>", "</think>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>"}) {
    vocabulary.tokens.emplace_back(mark);
    vocabulary.token_types.push_back(4);
  }
  return text::load_gguf_tokenizer(std::move(vocabulary)).or_throw();
}

std::shared_ptr<ModelProfile> model(std::string_view chat, std::string_view tools, std::string_view thoughts) {
  static const std::shared_ptr<const text::Tokenizer> tokenizer = tokenizer_with_marks();
  std::shared_ptr<const chat::ChatFormat> format;
  if (!chat.empty()) {
    format = chat::ChatFormat::load({{{"default", std::string(chat)}}}, {.bos_token = "<|s|>", .eos_token = "<|e|>"})
                 .or_throw();
  }
  return std::shared_ptr<ModelProfile>(new ModelProfile{
      .name = "m",
      .tokenizer = tokenizer,
      .chat = format,
      .tool_format = tools.empty() ? nullptr : chat::tools::find_tool_format(tools).or_throw(),
      .reasoning_format = thoughts.empty() ? nullptr : chat::reasoning::find_reasoning_format(thoughts).or_throw(),
      .generation = {},
      .max_length = kMaxLength,
      .vocab_size = tokenizer->vocab_size(),
      .hidden_size = 8,
      .breakers = std::make_shared<decode::BreakerCache>(tokenizer)});
}

std::shared_ptr<ModelProfile> chosen_model(std::uint8_t choice) {
  static const std::array models = {model(kTemplate, "hermes", "deepseek_r1"), model(kTemplate, "llama3_json", ""),
                                    model("{{ messages[-1].content }}", "generic", "deepseek_r1"),
                                    model(kTemplate, "openai", ""), model("", "", "")};
  return models[choice % models.size()];
}

// What a client sees where its body is wrong: an error of its own, of both dialects, that says which field.
void check_rejection(const ApiError& error) {
  CHECK(error.status >= 400 && error.status < 500);
  CHECK(!error.param.empty());
  CHECK(!error.message.empty());
  for (const Dialect dialect : {Dialect::kOpenAi, Dialect::kAnthropic}) {
    CHECK(!Json::parse(dumped(error.json(dialect)), nullptr, false).is_discarded());
  }
}

void check_request(const engine::Request& request, const ModelProfile& model) {
  const auto length = static_cast<std::int64_t>(request.tokens.size());
  CHECK(length > 0 && length + request.sampling.max_tokens <= kMaxLength);
  for (const std::int32_t token : request.tokens) CHECK(token >= 0 && token < model.vocab_size);
  CHECK(request.n >= 1 && request.n <= RequestLimits::kChoices);
  // Fields that are right one by one may exclude each other: the engine says so.
  if (const auto fine = request.sampling.validate(model.vocab_size); !fine) check_rejection(ApiError(fine.error()));
}

void check_answer(const GenerationRoute& route, const GenerationTask& task) {
  CHECK_EQ(task.requests.size(), task.prompts.size());
  for (const engine::Request& request : task.requests) check_request(request, *task.model);
  std::string out;
  const auto format = route.format(task);
  format->begin(out);
  format->fail(ApiError(), out);
}

// All models here have one tokenizer. A millisecond of a sanitized build is not what the limits of a server mean.
grammar::GrammarCache& grammars_of(const ModelProfile& model) {
  static grammar::GrammarCache cache(model.tokenizer, {.states = 5'000, .milliseconds = 500}, std::size_t{4} << 20);
  return cache;
}

void read(const Route& route, std::string_view text, std::uint8_t choice) {
  const TaskReader& reader = route.reader();
  const auto body = parse_json(text);
  if (!body) return check_rejection(ApiError(body.error()));
  GenerationTask task;
  FieldNotes notes;
  if (auto fine = reader.read(*body, task.fields, notes); !fine) return check_rejection(ApiError(fine.error()));
  task.model = chosen_model(choice);
  task.request_id = "r";
  if (auto prepared = reader.prepare(task); !prepared) return check_rejection(ApiError(prepared.error()));
  CHECK(!task.prompts.empty());
  if (const auto* prompt = dynamic_cast<const PromptRoute*>(&reader)) {
    CHECK(prompt->answer(task).is_object());
    return;
  }
  if (const auto grammar = asked_grammar(task)) {
    const auto compiled = chat::compiled_grammar(grammars_of(*task.model), *grammar, 0);
    if (!compiled) return check_rejection(grammar_rejection(compiled.error(), task));
  }
  check_answer(dynamic_cast<const GenerationRoute&>(reader), task);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array all = {routes::chat_completions(),
                                 routes::completions(),
                                 routes::responses(),
                                 routes::messages(),
                                 routes::embeddings(),
                                 routes::tokenize(),
                                 routes::messages_count_tokens()};
  if (size < 2) return 0;
  read(all[data[0] % all.size()], {reinterpret_cast<const char*>(data) + 2, size - 2}, data[1]);
  return 0;
}
