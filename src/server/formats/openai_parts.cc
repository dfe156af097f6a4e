#include "server/formats/openai_parts.h"

#include <cmath>

#include "server/observe/explain.h"

namespace millrace::server {
namespace {

constexpr std::string_view kDone = "data: [DONE]\n\n";

Json figure(std::optional<double> value) { return value ? Json(*value) : Json(); }

}  // namespace

Json finish_reason(const GenerationTask& task, const Answer& answer) {
  switch (answer.finish) {
    case engine::FinishReason::kStop:
      return answer.parts.calls.empty() || task.fields.tool_use.named ? "stop" : "tool_calls";
    case engine::FinishReason::kLength: return "length";
    default: return nullptr;
  }
}

Json stop_reason(const Answer& answer) {
  if (const auto* text = std::get_if<std::string>(&answer.stop_reason)) return *text;
  if (const auto* token = std::get_if<std::int32_t>(&answer.stop_reason)) return *token;
  return nullptr;
}

// Prompts are counted once, however many answers they got; in a session with what went before.
Json usage(const GenerationTask& task, const std::vector<Answer>& answers) {
  std::int64_t prompt = 0, completion = 0, cached = 0, reasoning = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const engine::RequestStats& stats = answers[i].stats;
    completion += stats.output_tokens;
    reasoning += answers[i].reasoning_tokens;
    if (i > 0 && answers[i].prompt == answers[i - 1].prompt) continue;
    prompt += stats.prompt_tokens;
    cached += stats.cached_tokens;
  }
  Json out = {{"prompt_tokens", prompt},
              {"completion_tokens", completion},
              {"total_tokens", prompt + completion},
              {"prompt_tokens_details", {{"cached_tokens", cached}}}};
  if (task.reading.reasoning != nullptr) out["completion_tokens_details"] = {{"reasoning_tokens", reasoning}};
  return out;
}

Json timings(const GenerationTask& task, const Answer& answer) {
  const engine::RequestStats& s = answer.stats;
  const engine::Utilization use = engine::utilization(answer.spent, task.model->peaks->now());
  const double prefill = milliseconds_between(s.admitted, s.first_token);
  const double decode = milliseconds_between(s.first_token, s.last_token);
  const auto rate = [](double tokens, double ms) { return ms > 0.0 ? tokens / ms * 1000.0 : 0.0; };
  const auto computed = static_cast<double>(s.prompt_tokens - s.cached_tokens);
  const auto output = static_cast<double>(s.output_tokens);
  return {{"queue_ms", s.queue_ms()},
          {"prefill_ms", prefill},
          {"decode_ms", decode},
          {"ttft_ms", s.ttft_ms()},
          {"tpot_ms", s.tpot_ms()},
          {"preemptions", s.preemptions},
          {"cache_n", s.cached_tokens},
          {"draft_n", s.drafted_tokens},
          {"draft_n_accepted", s.accepted_tokens},
          {"prompt_n", s.prompt_tokens - s.cached_tokens},
          {"prompt_ms", prefill},
          {"prompt_per_second", rate(computed, prefill)},
          {"predicted_n", s.output_tokens},
          {"predicted_ms", decode},
          {"predicted_per_second", rate(output - 1.0, decode)},
          {"read_gb_s", figure(use.read_gb_s)},
          {"mbu", figure(use.mbu)},
          {"prefill_mfu", figure(use.prefill_mfu)}};
}

// Which experts the steps of the answer's decoding read, other answers' rows included.
Json experts_json(const model::ExpertUse& use, double read_bytes) {
  Json out = {
      {"touched_per_layer", use.touched_per_layer()}, {"of", use.experts_per_layer()}, {"imbalance", use.imbalance()}};
  if (read_bytes > 0.0) out["share_of_bytes"] = use.bytes / read_bytes;
  return out;
}

Json explanation(const GenerationTask& task, const Answer& answer) {
  const engine::Utilization use = engine::utilization(answer.spent, task.model->peaks->now());
  Json causes = Json::array();
  for (const observe::Cause& cause : observe::explain(answer.stats, answer.spent)) {
    Json one = {{"cause", cause.name}, {"ms", cause.milliseconds}, {"share", cause.share}, {"why", cause.sentence}};
    if (cause.name == "prefill") one["prefill_mfu"] = figure(use.prefill_mfu);
    if (cause.name == "decode") one.update({{"read_gb_s", figure(use.read_gb_s)}, {"mbu", figure(use.mbu)}});
    const model::ExpertUse& experts = answer.spent.decode_experts;
    if (cause.name == "decode" && experts.layers > 0) {
      one["experts"] = experts_json(experts, answer.spent.decode_read_bytes);
    }
    causes.push_back(std::move(one));
  }
  return causes;
}

std::string token_text(const GenerationTask& task, std::int32_t token) {
  if (task.fields.return_tokens_as_token_ids) return "token_id:" + std::to_string(token);
  return task.model->tokenizer->token_bytes(token);
}

double finite_logprob(float logprob) noexcept {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0;
}

Json prompt_logprobs(const GenerationTask& task, const Answer& answer) {
  Json out = Json::array({nullptr});
  for (const engine::TokenScore& score : answer.prompt_scores) {
    Json entry = Json::object();
    const auto add = [&](const engine::TokenLogprob& one, std::int64_t rank) {
      entry[std::to_string(one.token)] = {
          {"logprob", finite_logprob(one.logprob)}, {"rank", rank}, {"decoded_token", token_text(task, one.token)}};
    };
    add(score.chosen, score.rank);
    for (std::size_t i = 0; i < score.top.size(); ++i) {
      if (score.top[i].token != score.chosen.token) add(score.top[i], static_cast<std::int64_t>(i) + 1);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

void add_times(Json& to, const GenerationTask& task, const Answer& answer) {
  if (task.fields.timings) to["timings"] = timings(task, answer);
  if (task.fields.explain) to["why_slow"] = explanation(task, answer);
}

void append_usage_so_far(std::string& out, const GenerationTask& task, std::size_t prompt, std::int64_t produced) {
  if (task.fields.continuous_usage) {
    const auto tokens = static_cast<std::int64_t>(task.prompts[prompt].size());
    fmt::format_to(std::back_inserter(out),
                   R"(,"usage":{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})", tokens, produced,
                   tokens + produced);
  } else if (task.fields.include_usage) {
    out += R"(,"usage":null)";
  }
}

void append_end(std::string& out, const GenerationTask& task, const std::string& chunk,
                const std::vector<Answer>& answers) {
  if (task.fields.include_usage || task.fields.timings || task.fields.explain) {
    Json last = {{"usage", usage(task, answers)}};
    add_times(last, task, answers[0]);
    out += "data: " + chunk + "]," + last.dump().substr(1) + "\n\n";
  }
  out += kDone;
}

void append_failure(std::string& out, const ApiError& error) {
  out += "data: " + dumped(error.json(Dialect::kOpenAi)) + "\n\n";
  out += kDone;
}

}  // namespace millrace::server
