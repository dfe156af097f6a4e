#include "loadtest/client/streamed_answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace millrace::loadtest {
namespace {

constexpr int kOk = 200;
constexpr std::string_view kDone = "[DONE]";

}  // namespace

void StreamedAnswer::end(Outcome outcome, double now, std::string error) {
  if (over_) return;
  over_ = true;
  record_.ended = now;
  record_.outcome = outcome;
  record_.error = std::move(error);
}

void StreamedAnswer::give_up(Outcome outcome, double now, std::string error) {
  // What the model had to say has been said; only the connection lags behind.
  if (done_ && outcome != Outcome::kDisconnected) return end(Outcome::kWhole, now, "");
  end(outcome, now, std::move(error));
}

void StreamedAnswer::read(std::string_view bytes, double now, AnswerEventParser& parser) {
  if (record_.status == 0 && record_.first_byte == 0.0) record_.first_byte = now;
  while (!bytes.empty() && !over_ && !reply_.over()) {
    const std::string_view piece = reply_.take(bytes);
    record_.status = reply_.status();
    if (piece.empty()) continue;
    if (record_.status == kOk) {
      read_events(piece, now, parser);
      continue;
    }
    error_body_.append(piece.substr(0, kErrorBytes - error_body_.size()));
    if (error_body_.size() == kErrorBytes) end(Outcome::kRejected, now, parser.error_message(error_body_));
  }
  surplus_ = surplus_ || !bytes.empty();
  if (!over_ && reply_.over()) end_of_reply(now, parser);
}

void StreamedAnswer::read_events(std::string_view piece, double now, AnswerEventParser& parser) {
  AnswerEvent event;
  while (!over_ && events_.next(piece)) {
    if (done_) continue;
    seen_event_ = true;
    if (events_.data() == kDone) {
      done_ = true;
    } else if (!parser.parse(events_.data(), event)) {
      end(Outcome::kFailed, now, "an event of the stream is no JSON object: " + one_line(events_.data(), 100));
    } else if (event.error) {
      end(Outcome::kFailed, now, event.message.empty() ? "an error without a message" : one_line(event.message));
    } else {
      note(event, now);
    }
  }
  if (events_.too_long()) {
    end(Outcome::kFailed, now, fmt::format("an event is longer than {} bytes", EventReader::kEventBytes));
  }
}

void StreamedAnswer::note(const AnswerEvent& event, double now) {
  if (record_.id.empty()) record_.id = event.id.substr(0, 256);
  if (!event.finish_reason.empty()) record_.finish_reason = event.finish_reason.substr(0, 64);
  if (event.prompt_tokens >= 0) record_.prompt_tokens = event.prompt_tokens;
  if (event.cached_tokens >= 0) record_.cached_tokens = event.cached_tokens;
  if (event.completion_tokens >= 0) record_.completion_tokens = event.completion_tokens;
  if (event.server.known() || !event.server.causes.empty()) record_.server = event.server;
  if (keep_text_) record_.text += event.text;
  // Of an answer without text (special tokens alone, or an end at once) its end is the first that anybody hears.
  const bool nothing_but_its_end = !event.finish_reason.empty() && record_.events.empty();
  if (!event.token && !nothing_but_its_end) return;
  if (record_.events.empty())
    record_.events.reserve(
        static_cast<std::size_t>(std::clamp(record_.asked_tokens, std::int64_t{0}, std::int64_t{4096})));
  record_.events.push_back(now);
  if (events() == leave_after_) end(Outcome::kDisconnected, now, "");
}

void StreamedAnswer::end_of_reply(double now, AnswerEventParser& parser) {
  const bool broken = reply_.state() == ReplyReader::State::kBroken;
  if (record_.status >= 200 && record_.status != kOk) {
    return end(Outcome::kRejected, now, error_body_.empty() ? reply_.problem() : parser.error_message(error_body_));
  }
  // A server that leaves out [DONE] has said its last word with a reason why it ended.
  if (done_ || (!broken && !record_.finish_reason.empty())) return end(Outcome::kWhole, now, "");
  if (broken) return end(Outcome::kCut, now, reply_.problem());
  if (!seen_event_) {
    return end(Outcome::kFailed, now,
               fmt::format("the reply holds no events (content-type '{}')", one_line(reply_.content_type(), 100)));
  }
  end(Outcome::kCut, now, "the stream ended before its [DONE]");
}

void StreamedAnswer::close(double now, std::string_view why, AnswerEventParser& parser) {
  if (over_) return;
  reply_.close();
  end_of_reply(now, parser);
  if (record_.outcome == Outcome::kCut && !why.empty()) record_.error = why;
}

}  // namespace millrace::loadtest
