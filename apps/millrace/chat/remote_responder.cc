#include "chat/remote_responder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "decode/processor.h"
#include "decode/sampler_option.h"
#include "printable.h"
#include "servers/model_cards.h"

namespace millrace::app {
namespace {

using nlohmann::json;

std::int64_t whole_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

checkpoint::GenerationDefaults defaults_of(const json& card) {
  checkpoint::GenerationDefaults out;
  const auto told = card.find("sampling_defaults");
  if (told == card.end() || !told->is_object()) return out;
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto found = told->find(key);
    return found != told->end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
  };
  out.temperature = number("temperature");
  out.top_p = number("top_p");
  out.min_p = number("min_p");
  out.repetition_penalty = number("repetition_penalty");
  if (const auto top_k = number("top_k")) out.top_k = static_cast<std::int64_t>(*top_k);
  return out;
}

json value_of(const decode::SamplerOption& option, const SamplingFlags& flags, const decode::SamplingParams& params) {
  switch (option.spec.kind) {
    case OptionSpec::Kind::kText: return flags.given.text(option.spec);
    case OptionSpec::Kind::kSwitch: return option.of(params) != 0.0;
    case OptionSpec::Kind::kWhole: return static_cast<std::int64_t>(option.of(params));
    case OptionSpec::Kind::kNumber: break;
  }
  return option.of(params);
}

// What servers call a grammar, by the owner that they name for their models; null: not known.
const char* field_of(const std::string& owner, const std::string& language) {
  const bool regex = language == "regex";
  if (owner == "millrace" || owner == "vllm")
    return regex ? "/structured_outputs/regex" : "/structured_outputs/grammar";
  if (owner == "sglang") return regex ? "/regex" : "/ebnf";
  return owner == "llamacpp" && !regex ? "/grammar" : nullptr;
}

// Throws LoadError where the server would leave the grammar out without a word.
void add_grammar(json& body, const GrammarFlags& flags, const std::string& owner) {
  const auto asked = flags.asked();
  if (!asked) return;
  const std::string& language = asked->source.language;
  if (language == "json_object") {
    body["response_format"] = {{"type", "json_object"}};
  } else if (language == "json_schema") {
    json schema = json::parse(asked->source.text, nullptr, false);
    if (schema.is_discarded()) {
      throw_load_error(ErrorCode::kInvalidArgument, asked->flag, "--{}: this is no JSON", asked->flag);
    }
    body["response_format"] = {{"type", "json_schema"},
                               {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", std::move(schema)}}}};
  } else if (const char* field = field_of(owner, language)) {
    body[json::json_pointer(field)] = asked->source.text;
  } else {
    throw_load_error(ErrorCode::kUnsupported, asked->flag,
                     "--{}: the server ({}) is not known to obey it: use --json-schema, or a model loaded here",
                     asked->flag, owner.empty() ? "which names no owner of its model" : printable(owner));
  }
}

}  // namespace

RemoteResponder::RemoteResponder(ServerAddress address, const std::string& model, const GrammarFlags& grammar,
                                 const std::string& shown_as)
    : link_(std::move(address)), shown_as_(shown_as), grammar_(grammar) {
  const json card = model_card(link_, model).or_throw();
  model_ = text_of(card, "id");
  owner_ = text_of(card, "owned_by");
  is_millrace_ = owner_ == "millrace";
  context_ = whole_of(card, "max_model_len");
  if (context_ == 0 && card.contains("meta") && card["meta"].is_object()) {
    context_ = whole_of(card["meta"], "n_ctx");  // llama-server
  }
  defaults_ = defaults_of(card);
  if (const auto info = link_.get("/tokenizer_info"); info && info->is_object()) {
    template_ = text_of(*info, "chat_template");
  }
  json checked;
  add_grammar(checked, grammar_, owner_);
}

std::string RemoteResponder::description() const {
  const std::string limit = context_ > 0 ? fmt::format(", context {} tokens", context_) : "";
  return fmt::format("{} on {}{}", printable(model_), shown_as_, limit);
}

Result<decode::SamplingParams> RemoteResponder::sampling(const SamplingFlags& flags) const {
  try {
    auto params = flags.resolve(defaults_, 0, nullptr);
    if (auto valid = params.validate(); !valid) return valid.error();
    return params;
  } catch (const LoadError& failure) {
    return failure.error();
  }
}

void RemoteResponder::add_prompt(json& body, const nlohmann::ordered_json& messages) const {
  if (!continues_text_) {
    body["messages"] = messages;
    return;
  }
  std::string text;
  for (const auto& message : messages) text += message["content"].get<std::string>();
  body["prompt"] = std::move(text);
}

json RemoteResponder::body(const nlohmann::ordered_json& messages, const SamplingFlags& flags,
                           const decode::SamplingParams& params) const {
  const auto seed = static_cast<std::int64_t>(params.seed);
  json out = {{"model", model_},
              {"stream", true},
              {"stream_options", {{"include_usage", true}}},
              {"max_tokens", params.max_tokens},
              {"seed", is_millrace_ ? seed : seed & std::numeric_limits<std::int64_t>::max()}};
  add_prompt(out, messages);
  if (is_millrace_) out["timings"] = true;
  if (!params.stop.empty()) out["stop"] = params.stop;
  if (params.ignore_eos) out["ignore_eos"] = true;
  if (!params.samplers.empty()) out["samplers"] = params.samplers;
  if (flags.given.find("dry_multiplier").value_or(0.0) > 0.0)
    out["dry_sequence_breakers"] = flags.dry_sequence_breakers;
  for (const decode::SamplerOption* option : decode::all_sampler_options()) {
    const bool other_name = owner_ == "llamacpp" && !option->spec.alias.empty();
    const std::string name(option->spec.name);
    const bool everywhere = name == "temperature" || name == "top_p";
    if (flags.given.has(name) || everywhere || (is_millrace_ && option->model_default)) {
      out[other_name ? std::string(option->spec.alias) : name] = value_of(*option, flags, params);
    }
  }
  add_grammar(out, grammar_, owner_);
  return out;
}

Result<void> RemoteResponder::take(const json& event, Answer& answer, AnswerListener& listener) {
  if (const auto usage = event.find("usage"); usage != event.end() && usage->is_object()) {
    answer.prompt_tokens = whole_of(*usage, "prompt_tokens");
    answer.output_tokens = whole_of(*usage, "completion_tokens");
    note_stats(event, answer);
  }
  const auto choices = event.find("choices");
  if (choices == event.end() || !choices->is_array() || choices->empty() || !(*choices)[0].is_object()) return {};
  const json& choice = (*choices)[0];
  const auto add = [&](chat::PartEvent::Kind kind, std::string& to, const std::string& text) {
    if (text.empty()) return;
    last_part_ = Env::system().now();
    if (!first_part_) first_part_ = last_part_;
    to += text;
    listener.on_part({.kind = kind, .text = text});
  };
  if (const auto delta = choice.find("delta"); delta != choice.end() && delta->is_object()) {
    const std::string reasoning = text_of(*delta, "reasoning_content");
    add(chat::PartEvent::Kind::kReasoning, answer.reasoning,
        reasoning.empty() ? text_of(*delta, "reasoning") : reasoning);
    add(chat::PartEvent::Kind::kContent, answer.text, text_of(*delta, "content"));
  }
  add(chat::PartEvent::Kind::kContent, answer.text, text_of(choice, "text"));
  const std::string finish = text_of(choice, "finish_reason");
  if (finish == "length") answer.finish = engine::FinishReason::kLength;
  if (!finish.empty() && finish != "length") answer.finish = engine::FinishReason::kStop;
  return {};
}

Result<Answer> RemoteResponder::answer(const nlohmann::ordered_json& messages, const SamplingFlags& flags,
                                       AnswerListener& listener) {
  auto params = sampling(flags);
  if (!params) return params.error();
  if (context_ > 0) {  // servers reject an answer that could be too long for the context
    const auto prompt = count_tokens(messages);
    if (!prompt && prompt.error().code != ErrorCode::kUnsupported) return prompt.error();
    if (prompt) params->max_tokens = std::max<std::int64_t>(1, std::min(params->max_tokens, context_ - *prompt));
  }
  Answer answer;
  const auto on_event = [&](const json& event) { return take(event, answer, listener); };
  const auto interrupted = [&] { return listener.interrupted(); };
  const auto ask = [&] {
    asked_ = Env::system().now();
    first_part_.reset();
    return link_.stream(continues_text_ ? "/v1/completions" : "/v1/chat/completions", body(messages, flags, *params),
                        on_event, interrupted);
  };
  auto done = ask();
  if (!done && !continues_text_ && done.error().message.find("chat template") != std::string::npos) {
    continues_text_ = true;
    done = ask();
  }
  if (!done && done.error().code != ErrorCode::kCancelled) return done.error();
  if (!done) answer.finish = engine::FinishReason::kCancelled;
  return answer;
}

Result<std::int64_t> RemoteResponder::count_tokens(const nlohmann::ordered_json& messages) {
  json body = {{"model", model_}};
  add_prompt(body, messages);
  if (body == counted_.first) return counted_.second;
  const auto counted = link_.post("/tokenize", body);
  if (counted && counted->is_object() && counted->contains("count") && (*counted)["count"].is_number()) {
    counted_ = {std::move(body), (*counted)["count"].get<std::int64_t>()};
    return counted_.second;
  }
  if (!counted && counted.error().code == ErrorCode::kUnavailable) return counted.error();
  return make_error(ErrorCode::kUnsupported, "url", "{}: this server does not count the tokens of messages",
                    link_.name());
}

// As of a model in this process; times that the server does not tell are the client's.
void RemoteResponder::note_stats(const json& event, const Answer& answer) {
  const auto found = event.find("timings");
  const json timings = found != event.end() && found->is_object() ? *found : json::object();
  const auto number = [&](const char* key, double otherwise) {
    const auto at = timings.find(key);
    return at != timings.end() && at->is_number() ? at->get<double>() : otherwise;
  };
  const std::string prompt =
      timings.contains("cache_n")
          ? fmt::format("{} cached + {} new tokens", whole_of(timings, "cache_n"), whole_of(timings, "prompt_n"))
          : fmt::format("{} tokens", answer.prompt_tokens);
  stats_ = fmt::format("prompt {}, answer {} tokens", prompt, answer.output_tokens);
  if (!first_part_) return;
  stats_ += fmt::format(", TTFT {:.1f} ms", number("ttft_ms", milliseconds_between(asked_, *first_part_)));
  if (answer.output_tokens < 2) return;
  const double gaps = static_cast<double>(answer.output_tokens - 1);
  const double tpot = number("tpot_ms", milliseconds_between(*first_part_, last_part_) / gaps);
  if (tpot > 0.0) stats_ += fmt::format(", TPOT {:.2f} ms, {:.1f} tok/s", tpot, 1000.0 / tpot);
  if (const double mbu = number("mbu", 0.0); mbu > 0.0) stats_ += fmt::format(", MBU {:.0f} %", 100.0 * mbu);
}

}  // namespace millrace::app
