#include "chat/remote_responder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "decode/processor.h"
#include "decode/sampler_option.h"
#include "printable.h"

namespace millrace::app {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t whole_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

// The card of the model, or of the first one. Names that are aliases have a card of their own path.
Result<json> card_of(ServerLink& link, const std::string& model) {
  const auto list = link.get("/v1/models");
  if (!list) return list.error();
  std::vector<std::string> names;
  if (list->is_object() && list->contains("data") && (*list)["data"].is_array()) {
    for (const json& card : (*list)["data"]) {
      if (!card.is_object() || text_of(card, "id").empty()) continue;
      if (model.empty() || text_of(card, "id") == model) return card;
      names.push_back(printable(text_of(card, "id")));
    }
  }
  if (names.empty()) {
    return make_error(ErrorCode::kNotFound, "url", "{}: GET /v1/models lists no models", link.name());
  }
  const bool plain = std::ranges::all_of(model, [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
  if (plain) {
    auto card = link.get("/v1/models/" + model);
    if (card && card->is_object() && !text_of(*card, "id").empty()) return card;
  }
  return make_error(ErrorCode::kNotFound, "model", "{} has no model {}: it has {}", link.name(), printable(model),
                    fmt::join(names, ", "));
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

// Fields of OpenAI's API where it has some, else vLLM's.
void add_grammar(json& body, const GrammarFlags& flags) {
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
  } else {
    body["structured_outputs"] = {{language == "regex" ? "regex" : "grammar", asked->source.text}};
  }
}

}  // namespace

RemoteResponder::RemoteResponder(ServerAddress address, const std::string& model, const GrammarFlags& grammar,
                                 const std::string& shown_as)
    : link_(std::move(address)), shown_as_(shown_as), grammar_(grammar) {
  const json card = card_of(link_, model).or_throw();
  model_ = text_of(card, "id");
  is_millrace_ = text_of(card, "owned_by") == "millrace";
  context_ = whole_of(card, "max_model_len");
  if (context_ == 0 && card.contains("meta") && card["meta"].is_object()) {
    context_ = whole_of(card["meta"], "n_ctx");  // llama-server
  }
  defaults_ = defaults_of(card);
  if (const auto info = link_.get("/tokenizer_info"); info && info->is_object()) {
    template_ = text_of(*info, "chat_template");
  }
  json checked;
  add_grammar(checked, grammar_);
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

json RemoteResponder::body(const nlohmann::ordered_json& messages, const SamplingFlags& flags,
                           const decode::SamplingParams& params) const {
  const auto seed = static_cast<std::int64_t>(params.seed);
  json out = {{"model", model_},
              {"stream", true},
              {"stream_options", {{"include_usage", true}}},
              {"max_tokens", params.max_tokens},
              {"seed", is_millrace_ ? seed : seed & std::numeric_limits<std::int64_t>::max()}};
  if (continues_text_) {
    std::string text;
    for (const auto& message : messages) text += message["content"].get<std::string>();
    out["prompt"] = std::move(text);
  } else {
    out["messages"] = messages;
  }
  if (is_millrace_) out["timings"] = true;
  if (!params.stop.empty()) out["stop"] = params.stop;
  if (params.ignore_eos) out["ignore_eos"] = true;
  if (!params.samplers.empty()) out["samplers"] = params.samplers;
  if (flags.given.find("dry_multiplier").value_or(0.0) > 0.0)
    out["dry_sequence_breakers"] = flags.dry_sequence_breakers;
  for (const decode::SamplerOption* option : decode::all_sampler_options()) {
    const std::string name(option->spec.name);
    const bool everywhere = name == "temperature" || name == "top_p";
    if (flags.given.has(name) || everywhere || (is_millrace_ && option->model_default)) {
      out[name] = value_of(*option, flags, params);
    }
  }
  add_grammar(out, grammar_);
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
  if (continues_text_) {
    std::string text;
    for (const auto& message : messages) text += message["content"].get<std::string>();
    body["prompt"] = std::move(text);
  } else {
    body["messages"] = messages;
  }
  const auto counted = link_.post("/tokenize", body);
  if (counted && counted->is_object() && counted->contains("count") && (*counted)["count"].is_number()) {
    return (*counted)["count"].get<std::int64_t>();
  }
  if (!counted && counted.error().code == ErrorCode::kUnavailable) return counted.error();
  return make_error(ErrorCode::kUnsupported, "url", "{}: this server does not count the tokens of messages",
                    link_.name());
}

// As of a model in this process, as far as the server tells.
void RemoteResponder::note_stats(const json& event, const Answer& answer) {
  const auto found = event.find("timings");
  if (found == event.end() || !found->is_object()) {
    stats_ = fmt::format("prompt {} tokens, answer {} tokens", answer.prompt_tokens, answer.output_tokens);
    return;
  }
  const auto number = [&](const char* key) {
    const auto at = found->find(key);
    return at != found->end() && at->is_number() ? at->get<double>() : 0.0;
  };
  stats_ = fmt::format("prompt {} cached + {} new tokens, answer {} tokens", whole_of(*found, "cache_n"),
                       whole_of(*found, "prompt_n"), answer.output_tokens);
  if (number("ttft_ms") > 0.0) stats_ += fmt::format(", TTFT {:.1f} ms", number("ttft_ms"));
  if (number("tpot_ms") > 0.0) {
    stats_ += fmt::format(", TPOT {:.2f} ms, {:.1f} tok/s", number("tpot_ms"), 1000.0 / number("tpot_ms"));
  }
  if (number("mbu") > 0.0) stats_ += fmt::format(", MBU {:.0f} %", 100.0 * number("mbu"));
}

}  // namespace millrace::app
