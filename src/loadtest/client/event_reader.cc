#include "loadtest/client/event_reader.h"

namespace millrace::loadtest {

void EventReader::take_line(std::string_view line) {
  constexpr std::string_view kData = "data";
  if (!line.starts_with(kData)) return;
  line.remove_prefix(kData.size());
  if (!line.empty()) {
    if (line.front() != ':') return;  // a longer name
    line.remove_prefix(1);
    if (line.starts_with(' ')) line.remove_prefix(1);
  }
  const std::size_t needed = data_.size() + line.size() + 1 + kPadding;
  if (data_.capacity() < needed) data_.reserve(2 * needed);
  if (has_data_) data_ += '\n';
  has_data_ = true;
  data_ += line;
}

bool EventReader::next(std::string_view& bytes) {
  if (given_) {
    given_ = has_data_ = false;
    data_.clear();
  }
  while (!bytes.empty() && !too_long_) {
    const std::size_t end = bytes.find('\n');
    const std::size_t n = end == std::string_view::npos ? bytes.size() : end;
    too_long_ = line_.size() + data_.size() + n > kEventBytes;
    if (too_long_) break;
    if (end == std::string_view::npos) {
      line_ += bytes;
      bytes = {};
      break;
    }
    std::string_view line = bytes.substr(0, n);
    bytes.remove_prefix(n + 1);
    const bool begun = !line_.empty();
    if (begun) line = line_ += line;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool border = line.empty();
    if (!border) take_line(line);
    if (begun) line_.clear();
    if (border && has_data_) return given_ = true;
  }
  return false;
}

}  // namespace millrace::loadtest
