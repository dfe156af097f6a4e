#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/env.h"
#include "loadtest/client/address.h"
#include "loadtest/client/answer_event.h"
#include "loadtest/client/byte_stream.h"
#include "loadtest/client/streamed_answer.h"
#include "loadtest/request_record.h"
#include "loadtest/target.h"

namespace millrace::loadtest {

// One request to send.
struct Outgoing {
  RequestRecord record;          // with the fields known before: index, session, turn, due, asked_tokens
  std::string path;              // appended to the target's base path
  std::string body;              // JSON
  double timeout_s = 0.0;        // from sending to end; 0 = none
  std::int64_t leave_after = 0;  // events with text after which the client disconnects; 0 = never
  bool keep_text = false;        // keep the answer's text in the record
};

// Sends any number of streamed requests to one server on the calling thread, with one connection for each concurrent
// request. Connections are kept and reused. Only poll() waits. It never retries, except for a request whose kept
// connection the server had closed before.
class LoadClient {
 public:
  // Looks up the target and checks that it accepts connections; throws LoadError. Raises the process's limit of
  // descriptors to the maximum that the system allows.
  explicit LoadClient(const Target& target);
  ~LoadClient();
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;

  // Times in records are seconds after this.
  TimePoint zero() const noexcept { return zero_; }
  double seconds(TimePoint at) const noexcept { return std::chrono::duration<double>(at - zero_).count(); }
  TimePoint at(double seconds) const noexcept;

  void send(Outgoing request);
  // Waits until `until` for anything to arrive, processes some of it, and returns when it has done so or the time has
  // come.
  void poll(TimePoint until);
  // Ends all requests in flight as kStopped.
  void stop();

  std::size_t active() const noexcept { return active_.size(); }  // answers that have not ended
  std::size_t streaming() const noexcept { return streaming_; }   // active answers with a first event
  std::int64_t events() const noexcept { return events_; }        // events with text, of all answers
  std::vector<RequestRecord> take_ended() { return std::exchange(ended_, {}); }

 private:
  struct Connection;
  Connection* idle_connection(TimePoint now);
  Connection* new_connection(std::string& problem);
  void begin(Connection& c, int error);
  void connect_waiting();
  void watch(Connection& c);
  void ready(Connection& c, std::uint32_t what);
  bool finish_connect(Connection& c);
  void flush(Connection& c);
  void read(Connection& c);
  void send_again(Connection& old);
  void settle(Connection& c);
  void end_request(Connection& c);
  void close(Connection& c);
  void expire(TimePoint now);
  int wait(TimePoint until);

  const Target target_;
  const TimePoint zero_;
  const Address address_;
  std::unique_ptr<TlsContext> tls_;
  std::string fixed_headers_;
  int epoll_ = -1;
  struct Batch;
  std::unique_ptr<Batch> batch_;
  std::vector<char> buffer_;
  AnswerEventParser parser_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> closed_;        // freed after the batch that may still name them
  std::vector<Connection*> idle_;                          // the last one used is the first one used again
  std::vector<Connection*> waiting_;                       // for room in the queue of a Unix socket
  std::unordered_map<std::uint64_t, Connection*> active_;  // by number of the request
  std::deque<std::pair<TimePoint, std::uint64_t>> deadlines_;
  std::vector<RequestRecord> ended_;
  std::uint64_t sent_ = 0;
  std::size_t streaming_ = 0;
  std::int64_t events_ = 0;
};

}  // namespace millrace::loadtest
