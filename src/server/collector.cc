#include "server/collector.h"

#include <algorithm>

namespace millrace::server {

ApiError error_of(const engine::Output& output) {
  if (output.finish == engine::FinishReason::kTimeout) return took_too_long();
  if (output.finish == engine::FinishReason::kCancelled) return {503, "shutting_down", "", "the request was cancelled"};
  if (!output.error) return {};
  if (output.error->code == ErrorCode::kInternal && output.error->param == "logits") {
    return {500, "numerical_error", "", "the model's output is not a number"};
  }
  if (output.error->param == "grammar" && output.error->code == ErrorCode::kResourceExhausted) {
    return {400, "grammar_too_complex", "", output.error->message};
  }
  return *output.error;
}

ApiError took_too_long() { return {504, "timeout", "timeout", "the request took longer than it may"}; }

ApiError engine_failure() { return Error{ErrorCode::kInternal, "", "the engine has failed"}; }

Collector::Collector(std::shared_ptr<Job> job) : job_(std::move(job)) {
  const GenerationTask& task = job_->task;
  made_ = static_cast<std::size_t>(
      task.fields.use_beam_search ? task.fields.n : std::max(task.fields.n, task.fields.best_of.value_or(0)));
  answers_.resize(task.prompts.size() * made_);
  pieces_.resize(answers_.size());
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    answers_[i].index = i;
    answers_[i].prompt = i / made_;
  }
  if (task.reading.parts && !task.reading.plain()) {
    for (std::size_t i = 0; i < answers_.size(); ++i) readers_.emplace_back(task.reading, task.fields.tool_use, i);
  }
  open_ = job_->streams.size();
  format_ = job_->route.format(task);
}

Collector::~Collector() {
  if (open_ > 0) job_->cancel_all();
  for (const Answer& answer : answers_) job_->tokens_used += answer.stats.prompt_tokens + answer.stats.output_tokens;
  job_->server.journal.finished(job_->task, answers_, error_);
}

void Collector::read_parts(Answer& answer, Piece& piece, const engine::Output& output) {
  std::vector<chat::PartEvent> events;
  if (!readers_.empty()) {
    chat::AnswerReader& reader = readers_[answer.index];
    const bool thought = reader.thinking();
    events = reader.push(output.text, output.finish != engine::FinishReason::kNone);
    if (output.token && (thought || reader.thinking())) ++answer.reasoning_tokens;
  } else if (!output.text.empty()) {
    events.push_back({.kind = chat::PartEvent::Kind::kContent, .call = 0, .text = output.text, .id = {}});
  }
  for (const chat::PartEvent& event : events) chat::add_event(answer.parts, event);
  chat::append_events(piece.events, std::move(events));
}

std::vector<Answer> Collector::chosen() const {
  const auto n = static_cast<std::size_t>(job_->task.fields.n);
  if (made_ == n) return answers_;
  const auto mean = [](const Answer& a) {
    return a.stats.cumulative_logprob / static_cast<double>(std::max<std::size_t>(1, a.tokens.size()));
  };
  std::vector<Answer> best;
  for (std::size_t p = 0; p < job_->task.prompts.size(); ++p) {
    std::vector<Answer> mine(answers_.begin() + static_cast<std::ptrdiff_t>(p * made_),
                             answers_.begin() + static_cast<std::ptrdiff_t>((p + 1) * made_));
    std::ranges::stable_sort(mine, std::greater(), mean);
    for (std::size_t i = 0; i < n; ++i) {
      mine[i].index = p * n + i;
      best.push_back(std::move(mine[i]));
    }
  }
  return best;
}

}  // namespace millrace::server
