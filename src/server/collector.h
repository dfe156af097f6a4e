#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/generation_job.h"

namespace millrace::server {

// The client's error for an output that finished with kError, kTimeout or kCancelled.
ApiError error_of(const engine::Output& output);
// The client's error for an engine that has failed and sends no more outputs: 500.
ApiError engine_failure();
// The client's error where the time limit of a request is over: 504.
ApiError took_too_long();

// Takes the outputs of a job's engine requests from their streams and collects them as answers. Used by the
// connection's thread, after job.done is set without an error. The destructor cancels what has not ended, counts the
// tokens for the tenant's quota and reports the request to the journal.
class Collector {
 public:
  explicit Collector(std::shared_ptr<Job> job);
  ~Collector();

  // Takes all outputs that are there, without waiting. Calls `step(answer, piece)` each time an answer has gained
  // fields.stream_interval tokens or has ended. The first error cancels all requests, and ended() is true then.
  template <typename Step>
  void drain(Step step) {
    for (std::size_t p = 0; p < job_->streams.size(); ++p) {
      while (!error_) {
        auto output = job_->streams[p]->try_pop();
        if (!output) break;
        take(p, *std::move(output), step);
      }
    }
    if (!error_ && open_ > 0 && job_->server.failure.raised()) error_ = engine_failure();
    if (error_ && open_ > 0) {
      job_->cancel_all();
      open_ = 0;
    }
  }
  // Whether every request has ended, with answers or with error().
  bool ended() const noexcept { return open_ == 0; }
  const std::optional<ApiError>& error() const noexcept { return error_; }
  AnswerFormat& format() noexcept { return *format_; }

  // The answers to return, once ended(): all of them, or with best_of the n of each prompt with the highest mean
  // logprob per token.
  std::vector<Answer> chosen() const;
  // All answers as far as they have come, [prompts][choices].
  const std::vector<Answer>& answers() const noexcept { return answers_; }

  // Ends all answers with the error.
  void fail(ApiError why) {
    if (open_ > 0) job_->cancel_all();
    error_ = std::move(why);
  }

 private:
  template <typename Step>
  void take(std::size_t prompt, engine::Output output, Step step) {
    using enum engine::FinishReason;
    if (output.finish == kError || output.finish == kTimeout || output.finish == kCancelled) {
      const bool of_adapter = output.error && is_adapter_error(*output.error);
      error_ = of_adapter ? adapter_error(job_->adapters, *output.error) : error_of(output);
      return;
    }
    Answer& answer = answers_[prompt * made_ + static_cast<std::size_t>(output.choice)];
    Piece& piece = pieces_[answer.index];
    answer.text += output.text;
    piece.text += output.text;
    if (job_->task.reading.parts) read_parts(answer, piece, output);
    if (output.token) {
      job_->place.add_output_token();
      answer.tokens.push_back(*output.token);
      piece.tokens.push_back(*output.token);
    }
    if (output.score) {
      piece.scores.push_back(*output.score);
      answer.scores.push_back(*std::move(output.score));
    }
    if (!output.prompt_scores.empty()) answer.prompt_scores = std::move(output.prompt_scores);
    if (!output.embedding.empty()) answer.embedding = std::move(output.embedding);
    answer.finish = output.finish;
    answer.stop_reason = std::move(output.stop_reason);
    answer.stats = output.stats;
    answer.engine_request = output.request;
    if (output.spent) answer.spent = *output.spent;
    if (output.last) --open_;
    const auto gathered = static_cast<std::int64_t>(piece.tokens.size());
    if (output.finish == kNone && gathered < job_->task.fields.stream_interval) return;
    step(answer, piece);
    piece = {};
  }

  void read_parts(Answer& answer, Piece& piece, const engine::Output& output);

  std::shared_ptr<Job> job_;
  std::unique_ptr<AnswerFormat> format_;
  std::size_t made_ = 1, open_ = 0;  // answers per prompt; streams that have not ended
  std::vector<Answer> answers_;
  std::vector<Piece> pieces_;               // [answers]; what was not given to `step` yet
  std::deque<chat::AnswerReader> readers_;  // [answers]; empty where all text is content
  std::optional<ApiError> error_;
};

}  // namespace millrace::server
