#include "server/prompt_reading.h"

#include <algorithm>

#include "chat/chat_limits.h"
#include "chat/chat_request.h"
#include "chat/tools/tool_prompt.h"
#include "server/conversation_turns.h"
#include "server/limits.h"
#include "server/reasoning_fields.h"
#include "server/tool_fields.h"
#include "text/fill_in_middle.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;

bool is_ids(const Json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, [](const Json& v) { return v.is_number(); });
}

Json keep(const Json& value) { return value; }

// What the template wrote after the text of the last message is taken away again.
Result<void> cut_after_last_message(std::vector<text::TextPiece>& pieces, const Json& message) {
  const Json content = message.value("content", Json());
  if (!content.is_string() || message.value("role", "") != "assistant") {
    return make_error(ErrorCode::kInvalidArgument, "continue_final_message",
                      "continue_final_message needs the last message to be the assistant's, with text");
  }
  std::string text = content.get<std::string>();
  text.erase(text.find_last_not_of(" \t\r\n") + 1);  // templates trim
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const std::size_t at = pieces[i].trusted ? std::string::npos : pieces[i].text.rfind(text);
    if (at == std::string::npos) continue;
    pieces[i].text.erase(at + text.size());
    pieces.resize(i + 1);
    return {};
  }
  return make_error(ErrorCode::kUnsupported, "continue_final_message",
                    "continue_final_message: the model's template changes the text of the last message");
}

Json tools_shape() {
  const Json function = {{"type", "object"}, {"required", {"name"}}, {"properties", function_shape()}};
  const Json tool = {{"type", "object"},
                     {"required", {"type", "function"}},
                     {"properties", {{"type", {{"const", "function"}}}, {"function", function}}}};
  return {{"type", {"array", "null"}}, {"items", tool}, {"maxItems", chat::ChatLimits::kTools}};
}

// What the answer to this prompt is to be read for.
chat::AnswerReading reading_of(const GenerationTask& task, std::span<const text::TextPiece> prompt, bool calls,
                               bool template_has_tools) {
  const ModelProfile& model = *task.model;
  chat::AnswerReading reading{.parts = true, .id_seed = task.request_id};
  if (model.tool_format != nullptr && model.tool_format->always) {
    reading.tools = model.tool_format;
    return reading;
  }
  if (calls) {
    static const chat::tools::ToolFormat* const generic =
        chat::tools::find_tool_format(chat::tools::kGenericFormat).or_throw();
    reading.tools = template_has_tools ? model.tool_format : generic;
  }
  if (!task.fields.separate_reasoning) return reading;
  reading.reasoning = model.reasoning_format;
  reading.reasoning_begun =
      reading.reasoning != nullptr && chat::opened_thinking_tag(prompt) == reading.reasoning->open;
  return reading;
}

}  // namespace

void add_prompt_field(GenerationSchema& schema, const std::string& name, std::size_t most) {
  const Json text = {{"type", "string"}};
  const Json ids = {
      {"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", 2147483647}}}, {"minItems", 1}};
  schema.field(name, "Text, token ids, or a list of either",
               {{"anyOf",
                 {text,
                  ids,
                  {{"type", "array"}, {"items", text}, {"minItems", 1}, {"maxItems", most}},
                  {{"type", "array"}, {"items", ids}, {"minItems", 1}, {"maxItems", most}}}}},
               [](Fields& f, const Json& value) -> Result<void> {
                 f.prompt = keep(value);
                 return {};
               });
}

Result<void> read_prompts(GenerationTask& task, const std::string& field, std::size_t most) {
  const Json& given = task.fields.prompt;
  const text::Tokenizer& tokenizer = *task.model->tokenizer;
  const auto add = [&](const Json& one) -> Result<void> {
    if (one.is_string()) {
      const auto& text = one.get_ref<const std::string&>();
      // The text is its author's whole prompt: special tokens in it are meant, as every server has it.
      task.prompts.push_back(tokenizer.encode(text, task.fields.add_special_tokens.value_or(!task.session), true));
      task.prompt_texts.push_back(text);
      const bool may_be_empty = !task.fields.suffix.empty();  // all before the gap
      if (task.prompts.back().empty() && !may_be_empty)
        return make_error(ErrorCode::kInvalidArgument, field, "{} is empty", field);
      return {};
    }
    if (!is_ids(one)) {
      return make_error(ErrorCode::kInvalidArgument, field, "{} must be text, token ids, or a list of either", field);
    }
    auto ids = read_token_ids(field, one, std::size_t{1} << 24);
    if (!ids) return ids.error();
    const auto outside = std::ranges::find_if(*ids, [&](std::int32_t id) { return id >= task.model->vocab_size; });
    if (outside != ids->end()) {
      return make_error(ErrorCode::kInvalidArgument, field, "token id {} is outside the vocabulary of {}", *outside,
                        task.model->vocab_size);
    }
    task.prompts.push_back(std::move(*ids));
    task.prompt_texts.emplace_back();
    return {};
  };
  if (given.is_string() || is_ids(given)) return add(given);
  if (!given.is_array() || given.empty()) {
    return make_error(ErrorCode::kInvalidArgument, field, "{} must be text, token ids, or a list of either", field);
  }
  if (given.size() > most) {
    return make_error(ErrorCode::kInvalidArgument, field, "{} has {} entries: the limit is {}", field, given.size(),
                      most);
  }
  const bool texts = given[0].is_string();
  for (const Json& one : given) {
    if (one.is_string() != texts) {
      return make_error(ErrorCode::kInvalidArgument, field, "{} mixes texts and token ids", field);
    }
    if (auto added = add(one); !added) return added;
  }
  return {};
}

Result<void> fill_in_middle(GenerationTask& task) {
  if (task.fields.suffix.empty()) return {};
  const text::Tokenizer& tokenizer = *task.model->tokenizer;
  const text::MiddleSpelling* spelling = tokenizer.middle_spelling();
  if (spelling == nullptr) {
    return make_error(ErrorCode::kUnsupported, "suffix", "suffix: this model has no tokens to fill in the middle with");
  }
  const auto after = text::encode_continuation(tokenizer, task.fields.suffix);
  for (std::size_t i = 0; i < task.prompts.size(); ++i) {
    std::vector<std::int32_t>& prompt = task.prompts[i];
    // BOS, which the tokenizer or the client has put in front of the prefix, stands in front of it all.
    std::string& text = task.prompt_texts[i];
    const bool may_begin = text.empty() || tokenizer.adds_bos();
    const bool begins = may_begin && !prompt.empty() && prompt.front() == tokenizer.bos();
    // Special tokens in a prefix given as text are text: it is a file's, not a prompt.
    const auto before =
        text.empty() ? std::vector(prompt.begin() + begins, prompt.end()) : tokenizer.encode(text, false, false);
    if (text.empty()) text = tokenizer.decode(before, task.fields.skip_special_tokens);  // for echo
    prompt.resize(begins ? 1 : 0);
    const auto whole = text::middle_prompt(*spelling, before, after);
    prompt.insert(prompt.end(), whole.begin(), whole.end());
  }
  auto& stops = task.fields.stop_token_ids;
  stops.insert(stops.end(), spelling->ends.begin(), spelling->ends.end());
  return {};
}

void add_chat_prompt_fields(GenerationSchema& schema) {
  const auto list = [](Json Fields::* member) {
    return [member](Fields& f, const Json& value) -> Result<void> {
      f.*member = value;
      return {};
    };
  };
  schema
      .field("messages", "Messages of the conversation so far",
             {{"type", "array"},
              {"minItems", 1},
              {"maxItems", chat::ChatLimits::kMessages},
              {"items",
               {{"type", "object"},
                {"required", {"role", "content"}},
                {"properties",
                 {{"role", {{"type", "string"}, {"enum", {"system", "developer", "user", "assistant"}}}},
                  {"content", {{"type", "string"}}}}}}}},
             list(&Fields::messages))
      .field("tools", "Functions that the model may call", tools_shape(),
             [](Fields& f, const Json& value) { return set_tools(f, value); })
      .field("documents", "Texts that the template shows the model", {{"type", {"array", "null"}}},
             list(&Fields::documents))
      .field("chat_template_kwargs", "Further variables of the template", {{"type", {"object", "null"}}},
             list(&Fields::chat_template_kwargs))
      .rejected("chat_template", "a request brings no code")
      .field("tool_choice", "Use of tools: none, auto, required, or an object that names one function or several",
             tool_choice_shape(), set_tool_choice)
      .boolean(
          "parallel_tool_calls", [](Fields& f) -> auto& { return f.parallel_tool_calls; },
          "Whether a completion may have several tool calls")
      .boolean(
          "add_generation_prompt", [](Fields& f) -> auto& { return f.add_generation_prompt; },
          "End the prompt with the beginning of the model's own message")
      .boolean(
          "continue_final_message", [](Fields& f) -> auto& { return f.continue_final_message; },
          "Continue the last message instead of beginning a new one; add_generation_prompt must be false")
      .boolean(
          "add_special_tokens", [](Fields& f) -> auto& { return f.add_special_tokens; },
          "Tokens that begin a text, besides those of the template; default false")
      .rejected("echo", "a completion does not repeat the last message", {false});
  add_reasoning_fields(schema);
}

namespace {

// One rendering: the pieces of a prompt and its tokens.
struct Rendered {
  std::vector<text::TextPiece> pieces;
  std::vector<std::int32_t> tokens;
};

Result<Rendered> render(const GenerationTask& task, const Json& messages,
                        const chat::TemplateCapabilities& capabilities) {
  const Fields& fields = task.fields;
  const bool has_tools = fields.tools.is_array() && !fields.tools.empty();
  const bool calls = fields.tool_use.choice != chat::tools::ToolUse::Choice::kNone;
  Json variables = {{"messages", chat::tools::spelled_out(messages, calls ? fields.tools : Json(), capabilities)},
                    {"add_generation_prompt", fields.add_generation_prompt && !fields.continue_final_message}};
  if (has_tools && capabilities.tools) variables["tools"] = fields.tools;
  if (!fields.documents.is_null()) variables["documents"] = fields.documents;
  variables["chat_template_kwargs"] = template_variables(fields, capabilities);
  auto pieces = task.model->chat->render(variables, task.created);
  if (!pieces) return pieces.error();
  if (fields.continue_final_message) {
    if (auto cut = cut_after_last_message(*pieces, messages.back()); !cut) return cut.error();
  }
  Rendered out{.pieces = *std::move(pieces), .tokens = {}};
  out.tokens = task.model->tokenizer->encode(out.pieces, fields.add_special_tokens.value_or(false));
  return out;
}

// Without as few of its first turns as make it fit, with an eighth of the context for an answer of no named length. The
// last turn stays: whether it fits is for make_requests() to say.
Result<Rendered> render_what_fits(const GenerationTask& task, const chat::TemplateCapabilities& capabilities) {
  const Json& messages = task.fields.messages;
  auto whole = render(task, messages, capabilities);
  const std::size_t turns = turns_of(messages);
  const std::int64_t limit = task.model->max_length;
  const auto fits = [&](const Rendered& rendered, std::int64_t answer) {
    return static_cast<std::int64_t>(rendered.tokens.size()) + answer <= limit;
  };
  if (!whole || turns < 2 || fits(*whole, task.fields.max_tokens.value_or(1))) return whole;
  const std::int64_t answer = task.fields.max_tokens.value_or(std::max<std::int64_t>(1, limit / 8));
  std::size_t few = 1, many = turns - 1;  // between these lies the number to leave out
  while (few < many) {
    const std::size_t middle = (few + many) / 2;
    const auto rendered = render(task, without_first_turns(messages, middle), capabilities);
    if (!rendered) return rendered;
    (fits(*rendered, answer) ? many : few) = fits(*rendered, answer) ? middle : middle + 1;
  }
  return render(task, without_first_turns(messages, few), capabilities);
}

}  // namespace

Result<void> render_chat(GenerationTask& task) {
  Fields& fields = task.fields;
  if (task.model->chat == nullptr) {
    return make_error(ErrorCode::kUnsupported, "messages", "this model has no chat template: use /v1/completions");
  }
  if (!fields.messages.is_array() || fields.messages.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "messages", "messages must be a list of at least one message");
  }
  add_system_message(fields);
  if (fields.continue_final_message && fields.add_generation_prompt) {
    return make_error(ErrorCode::kInvalidArgument, "continue_final_message",
                      "continue_final_message needs add_generation_prompt to be false");
  }
  if (auto fine = resolve_tool_choice(fields); !fine) return fine;
  const bool has_tools = fields.tools.is_array() && !fields.tools.empty();
  const auto capabilities = task.model->chat->capabilities(has_tools);
  if (!capabilities) return capabilities.error();
  const bool calls = fields.tool_use.choice != chat::tools::ToolUse::Choice::kNone;
  if (calls && task.model->tool_format == nullptr) {
    return make_error(ErrorCode::kUnsupported, "tools", "tools: this server runs with --tool-call-parser none");
  }
  auto rendered = fields.truncate_conversation ? render_what_fits(task, *capabilities)
                                               : render(task, fields.messages, *capabilities);
  if (!rendered) return rendered.error();
  task.reading = reading_of(task, rendered->pieces, calls, capabilities->tools);
  task.prompts.push_back(std::move(rendered->tokens));
  task.prompt_texts.emplace_back();
  return {};
}

}  // namespace millrace::server
