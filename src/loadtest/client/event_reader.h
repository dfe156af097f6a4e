#pragma once

#include <string>
#include <string_view>

namespace millrace::loadtest {

// Finds the events of a stream of server-sent events that arrives in pieces of any size. Only an event's data are kept;
// comments and other fields are skipped. Lines end with LF or CRLF.
class EventReader {
 public:
  static constexpr std::size_t kEventBytes = 16 << 20;
  static constexpr std::size_t kPadding = 64;  // bytes readable behind an event's data, for the JSON parser

  // Consumes bytes up to the end of the next event. True: data() holds the event until the next call. False: the bytes
  // are used up, or an event is too long.
  bool next(std::string_view& bytes);
  const std::string& data() const noexcept { return data_; }  // followed by kPadding readable bytes
  bool too_long() const noexcept { return too_long_; }

 private:
  void take_line(std::string_view line);

  std::string line_;  // begun in an earlier piece
  std::string data_;
  bool has_data_ = false, given_ = false, too_long_ = false;
};

}  // namespace millrace::loadtest
