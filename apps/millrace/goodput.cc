#include "goodput.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace millrace::app {

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(mark, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Goodput parse_goodput(const std::string& text) {
  Goodput goodput;
  for (const std::string& part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    const std::string name = part.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : part.substr(colon + 1);
    double ms = 0.0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
    const bool number = error == std::errc() && end == value.data() + value.size() && ms > 0.0 && ms < 1e9;
    if (!number || (name != "ttft" && name != "tpot")) {
      throw_load_error(ErrorCode::kInvalidArgument, "goodput", "goodput: '{}': expected ttft:MS or tpot:MS", part);
    }
    (name == "ttft" ? goodput.ttft_ms : goodput.tpot_ms) = ms;
  }
  return goodput;
}

}  // namespace millrace::app
