#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/generation_job.h"

namespace millrace::server {

// The API error for an output whose finish is kError, kTimeout or kCancelled.
ApiError error_of(const engine::Output& output);
// The API error for requests whose engine has failed.
ApiError engine_failure();

// Collects the outputs of a request's streams into answers. IO thread of the connection.
class Collector {
 public:
  explicit Collector(std::shared_ptr<Job> job);
  ~Collector();

  // Takes all outputs that are there and calls step(answer, piece) for each answer that grew. The first error cancels
  // all streams and ends the request.
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
  bool ended() const noexcept { return open_ == 0; }
  const std::optional<ApiError>& error() const noexcept { return error_; }
  AnswerFormat& format() noexcept { return *format_; }

  // The answers to return: all, or with best_of the n of each prompt with the highest mean logprob.
  std::vector<Answer> chosen() const;
  const std::vector<Answer>& answers() const noexcept { return answers_; }

 private:
  template <typename Step>
  void take(std::size_t prompt, engine::Output output, Step step) {
    using enum engine::FinishReason;
    if (output.finish == kError || output.finish == kTimeout || output.finish == kCancelled) {
      error_ = error_of(output);
      return;
    }
    Answer& answer = answers_[prompt * made_ + static_cast<std::size_t>(output.choice)];
    Piece& piece = pieces_[answer.index];
    answer.text += output.text;
    piece.text += output.text;
    if (job_->task.reading.parts) read_parts(answer, piece, output);
    if (output.token) {
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
  std::size_t made_ = 1, open_ = 0;
  std::vector<Answer> answers_;
  std::vector<Piece> pieces_;               // [answers], not passed to `step` yet
  std::deque<chat::AnswerReader> readers_;  // [answers]; empty if all text is content
  std::optional<ApiError> error_;
};

}  // namespace millrace::server
