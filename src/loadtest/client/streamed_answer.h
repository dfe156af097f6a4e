#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loadtest/client/answer_event.h"
#include "loadtest/client/event_reader.h"
#include "loadtest/client/reply_reader.h"
#include "loadtest/request_record.h"

namespace millrace::loadtest {

// The reply to one request from its first byte to its end. It fills in the request's record. It has no socket: its
// caller passes on what arrived, and when.
class StreamedAnswer {
 public:
  static constexpr std::size_t kErrorBytes = 64 << 10;  // limit of the body of an error reply

  // Disconnects after `leave_after` events with text; 0 = never.
  StreamedAnswer(RequestRecord record, bool keep_text, std::int64_t leave_after)
      : record_(std::move(record)), keep_text_(keep_text), leave_after_(leave_after) {}

  // All events in `bytes` get the time `now`, in seconds of the record.
  void read(std::string_view bytes, double now, AnswerEventParser& parser);
  // The connection has ended; `why` is "" if the server closed it in order.
  void close(double now, std::string_view why, AnswerEventParser& parser);
  // The client ends the request.
  void give_up(Outcome outcome, double now, std::string error);

  bool over() const noexcept { return over_; }
  bool keeps_alive() const noexcept {
    return reply_.keeps_alive() && !surplus_;
  }  // whether the connection may carry another request
  std::int64_t events() const noexcept { return static_cast<std::int64_t>(record_.events.size()); }
  RequestRecord& record() noexcept { return record_; }

 private:
  void read_events(std::string_view piece, double now, AnswerEventParser& parser);
  void note(const AnswerEvent& event, double now);
  void end_of_reply(double now, AnswerEventParser& parser);
  void end(Outcome outcome, double now, std::string error);

  RequestRecord record_;
  const bool keep_text_;
  const std::int64_t leave_after_;
  ReplyReader reply_;
  EventReader events_;
  std::string error_body_;
  bool seen_event_ = false, done_ = false, over_ = false;
  bool surplus_ = false;  // more came than the reply
};

}  // namespace millrace::loadtest
