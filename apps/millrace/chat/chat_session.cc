#include "chat/chat_session.h"

namespace millrace::app {

Result<Answer> ChatSession::answer(const std::function<void(const std::string&)>& on_text,
                                   const std::function<bool()>& interrupted) {
  auto prompt = conversation_.prompt();
  if (!prompt) return prompt.error();
  const auto id = engine_.submit({.tokens = *std::move(prompt), .sampling = sampling_, .session = session_}, grammar_);
  if (!id) return id.error();
  Answer answer;
  while (!engine_.idle()) {
    if (interrupted()) engine_.cancel(*id);
    for (engine::Output& output : engine_.step()) {
      if (output.error) return *output.error;
      if (!output.text.empty()) on_text(output.text);
      answer.text += output.text;
      answer.finish = output.finish;
      answer.stats = output.stats;
      if (output.spent) answer.spent = *output.spent;
    }
  }
  conversation_.add_assistant(answer.text);
  return answer;
}

std::string describe(const Answer& answer, const engine::MachinePeaks& peaks) {
  const engine::RequestStats& stats = answer.stats;
  std::string text = fmt::format("prompt {} cached + {} new tokens, answer {} tokens", stats.cached_tokens,
                                 stats.prompt_tokens - stats.cached_tokens, stats.output_tokens);
  if (stats.output_tokens > 0) text += fmt::format(", TTFT {:.1f} ms", stats.ttft_ms());
  if (stats.drafted_tokens > 0) {
    text += fmt::format(" ({} of {} draft tokens accepted)", stats.accepted_tokens, stats.drafted_tokens);
  }
  if (stats.output_tokens > 1) {
    const double tpot = stats.tpot_ms();
    text += fmt::format(", TPOT {:.2f} ms, {:.1f} tok/s", tpot, 1000.0 / tpot);
    const auto mbu = engine::utilization(answer.spent, peaks).mbu;
    if (mbu) text += fmt::format(", MBU {:.0f} % of {:.1f} GB/s", *mbu * 100.0, peaks.read_gb_s);
  }
  return text;
}

}  // namespace millrace::app
