#include "chat/local_responder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "adapter_flags.h"
#include "backend/cpu/probe.h"
#include "base/cpu.h"
#include "engine/adapter_uses.h"
#include "runtime/step_meter.h"
#include "speculation_flags.h"

namespace millrace::app {
namespace {

constexpr double kBandwidthSeconds = 0.2;

// A cache of one sequence, whose pages take memory as the chat grows.
runtime::ServingEngine chat_engine(const LoadedModel& loaded, const LocalModelFlags& flags) {
  runtime::EngineConfig config;
  config.adapters = resolved_adapters(flags.adapters, flags.model.hub);
  config.speculation = resolved_speculation(flags.speculation, flags.model.hub);
  auto made = runtime::make_engine(loaded, config, {.memory = runtime::PageMemory::kAtFirstWrite});
  made.engine->reporter().measure(runtime::step_meter(loaded, *made.engine));
  return made;
}

// The model's flags, with the adapter that is merged into its weights, if one is.
const ModelFlags& with_merged_adapter(LocalModelFlags& flags) {
  merge_adapters(flags.adapters, flags.model);
  return flags.model;
}

// Such as "prompt 52 cached + 14 new tokens, answer 31 tokens, TTFT 24.0 ms, TPOT 4.10 ms, 243.9 tok/s, MBU 52 % of
// 40.0 GB/s". MBU is left out if `peaks` has no read bandwidth.
std::string stats_line(const engine::RequestStats& stats, const engine::TimeSpent& spent,
                       const engine::MachinePeaks& peaks) {
  std::string text = fmt::format("prompt {} cached + {} new tokens, answer {} tokens", stats.cached_tokens,
                                 stats.prompt_tokens - stats.cached_tokens, stats.output_tokens);
  if (stats.output_tokens > 0) text += fmt::format(", TTFT {:.1f} ms", stats.ttft_ms());
  if (stats.drafted_tokens > 0) {
    text += fmt::format(" ({} of {} draft tokens accepted)", stats.accepted_tokens, stats.drafted_tokens);
  }
  if (stats.output_tokens > 1) {
    const double tpot = stats.tpot_ms();
    text += fmt::format(", TPOT {:.2f} ms, {:.1f} tok/s", tpot, 1000.0 / tpot);
    const auto mbu = engine::utilization(spent, peaks).mbu;
    if (mbu) text += fmt::format(", MBU {:.0f} % of {:.1f} GB/s", *mbu * 100.0, peaks.read_gb_s);
  }
  return text;
}

}  // namespace

LocalResponder::LocalResponder(LocalModelFlags flags, const std::function<void(double)>& progress)
    : name_(flags.model.model),
      start_(Env::system().now()),
      loaded_(load_model(with_merged_adapter(flags), {}, progress)),
      prompts_(*loaded_.checkpoint),
      serving_(chat_engine(loaded_, flags)),
      engine_(serving_.engine.get()),
      adapters_(engine::uses_of(*serving_.adapters->set())),
      grammar_(flags.grammar.compile(loaded_.checkpoint->tokenizer)),
      session_(engine_->sessions().open()),
      loaded_ms_(milliseconds_between(start_, Env::system().now())) {}

LocalResponder::~LocalResponder() { engine_->sessions().close(session_); }

std::string LocalResponder::description() const {
  return fmt::format("{}: {}, {:.1f} MB of weights, loaded in {:.0f} ms; {}", loaded_.checkpoint->path,
                     loaded_.transformer->layers().description(), static_cast<double>(loaded_.weight_bytes()) / 1e6,
                     loaded_ms_, loaded_.backend->description());
}

Result<decode::SamplingParams> LocalResponder::sampling(const SamplingFlags& flags) const {
  try {
    auto params = flags.resolve(loaded_.checkpoint->generation, 0, loaded_.checkpoint->tokenizer.get());
    if (auto valid = params.validate(engine_->limits().vocab_size); !valid) return valid.error();
    return params;
  } catch (const LoadError& failure) {
    return failure.error();
  }
}

Result<std::int64_t> LocalResponder::count_tokens(const nlohmann::ordered_json& messages) {
  const auto prompt = prompts_.prompt(messages);
  if (!prompt) return prompt.error();
  return static_cast<std::int64_t>(prompt->tokens.size());
}

chat::AnswerReading LocalResponder::reading(bool thinking) const {
  chat::AnswerReading reading{.parts = true};
  const std::string_view source = prompts_.chat_template();
  if (source.empty()) return reading;
  const auto* tools = chat::tools::recognise_tool_format(source);
  if (tools != nullptr && tools->always) {
    reading.tools = tools;
    return reading;
  }
  reading.reasoning = chat::reasoning::recognise_reasoning_format(source);
  reading.reasoning_begun = reading.reasoning != nullptr && thinking;
  return reading;
}

void LocalResponder::observe_prompt(AnswerListener* listener) {
  if (listener == nullptr) return engine_->reporter().observe({});
  engine_->reporter().observe([this, listener](const engine::StepReport& report) {
    for (const engine::RowReport& row : report.rows) {
      if (!row.decode) listener->on_prompt(row.first + row.tokens, prompt_tokens_);
    }
  });
}

Result<Answer> LocalResponder::answer(const nlohmann::ordered_json& messages, const SamplingFlags& flags,
                                      AnswerListener& listener) {
  auto prompt = prompts_.prompt(messages);
  if (!prompt) return prompt.error();
  auto params = sampling(flags);
  if (!params) return params.error();
  const chat::AnswerReading how = reading(prompt->thinking);
  params->shown_special_tokens = chat::special_markers(how, *loaded_.checkpoint->tokenizer);
  const chat::tools::ToolUse no_tools;
  chat::AnswerReader reader(how, no_tools, 0);
  chat::AnswerParts parts;
  prompt_tokens_ = static_cast<std::int64_t>(prompt->tokens.size());
  const auto id = engine_->submit(
      {.tokens = std::move(prompt->tokens), .sampling = *params, .adapters = adapters_, .session = session_}, grammar_);
  if (!id) return id.error();
  observe_prompt(&listener);
  Answer answer;
  while (!engine_->idle()) {
    if (listener.interrupted()) engine_->cancel(*id);
    for (engine::Output& output : engine_->step()) {
      const bool ended = output.finish != engine::FinishReason::kNone;
      if (output.error) {
        observe_prompt(nullptr);
        return *output.error;
      }
      for (const chat::PartEvent& part : reader.push(output.text, ended)) {
        chat::add_event(parts, part);
        listener.on_part(part);
      }
      answer.finish = output.finish;
      answer.prompt_tokens = output.stats.prompt_tokens;
      answer.output_tokens = output.stats.output_tokens;
      stats_ = output.stats;
      if (output.spent) spent_ = *output.spent;
    }
  }
  observe_prompt(nullptr);
  answer.text = std::move(parts.content);
  answer.reasoning = std::move(parts.reasoning);
  return answer;
}

// The machine's limit is measured once, when it is first wanted.
std::string LocalResponder::last_stats() {
  if (stats_.prompt_tokens == 0) return "";
  if (peaks_.read_gb_s == 0.0 && stats_.output_tokens > 1) {
    peaks_.read_gb_s = backend::cpu::measure_read_bandwidth(loaded_.threads_on_host(), detect_isa(), kBandwidthSeconds);
  }
  return stats_line(stats_, spent_, peaks_);
}

}  // namespace millrace::app
