#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/env.h"

namespace millrace::bench {

// One streamed answer as its client saw it.
struct StreamSeen {
  TimePoint due{};  // when it should be sent; sent at once, or late where the client is too slow
  TimePoint sent{}, first_byte{}, first_event{}, last_event{};
  std::int64_t events = 0;  // `data: {...}`: a token each, where every token shows text
  int status = 0;
  bool whole = false;      // came to its end
  bool abandoned = false;  // by us
  double ttft_ms() const { return milliseconds_between(due, first_event); }
  double first_byte_ms() const { return milliseconds_between(due, first_byte); }
  double tpot_ms() const {
    return events > 1 ? milliseconds_between(first_event, last_event) / static_cast<double>(events - 1) : 0.0;
  }
};

// Any number of streamed requests to one server on one thread, cheap enough not to be what is measured: it counts
// events where they lie in the bytes of a read, and parses nothing.
class StreamClient {
 public:
  StreamClient(std::string host, int port);
  ~StreamClient();
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  // POSTs `body` to `path` on an idle connection, or a new one. Leaves after `abandon_after` events; 0 = stays. Throws
  // LoadError where no connection can be had.
  void send(std::string_view path, std::string_view body, TimePoint due, std::int64_t abandon_after = 0);
  // Waits until then for something to come, and takes what there is.
  void poll(TimePoint until);

  std::size_t active() const noexcept { return active_; }        // answers not yet at their end
  std::size_t streaming() const noexcept { return streaming_; }  // of those, with a first event
  std::int64_t events() const noexcept { return events_; }       // of all answers
  std::vector<StreamSeen> take_ended() { return std::exchange(ended_, {}); }

 private:
  struct Connection {
    int fd = -1;
    bool busy = false, closes = false;
    std::int64_t abandon_after = 0;
    std::array<char, 6> tail{};  // of what was read: an event may begin in one read and go on in the next
    std::size_t tail_bytes = 0;
    StreamSeen seen;
  };
  Connection& connection();
  void take(Connection& connection);
  void look(Connection& connection, std::string_view bytes, TimePoint now);
  void end(Connection& connection, bool whole, bool keep);

  const std::string host_;
  const int port_;
  int epoll_ = -1;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;  // by descriptor
  std::vector<Connection*> idle_;
  std::vector<char> buffer_;
  std::vector<StreamSeen> ended_;
  std::size_t active_ = 0, streaming_ = 0;
  std::int64_t events_ = 0;
};

}  // namespace millrace::bench
