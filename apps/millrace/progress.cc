#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace millrace::app {

Progress::Progress(std::string label, std::uint64_t total_bytes, Mode mode, std::uint64_t present_bytes)
    : label_(std::move(label)),
      total_bytes_(std::max<std::uint64_t>(total_bytes, 1)),
      present_bytes_(present_bytes),
      silent_(mode == Mode::kSilent),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Env::system().now()),
      last_(start_) {}

Progress::~Progress() {
  if (drawn_ && terminal_) std::fputc('\n', stderr);
}

void Progress::update(std::uint64_t done_bytes) {
  if (silent_) return;
  const TimePoint now = Env::system().now();
  const bool last = done_bytes >= total_bytes_;
  if (milliseconds_between(last_, now) < (terminal_ ? 100.0 : 5000.0) && !(last && terminal_)) return;
  last_ = now;
  drawn_ = true;
  const std::string text = line(done_bytes, now);
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", text.c_str());
  std::fflush(stderr);
}

void Progress::note(const std::string& text) {
  std::fprintf(stderr, "%s%s\n", drawn_ && terminal_ ? "\r\033[K" : "", text.c_str());
  std::fflush(stderr);
}

std::string Progress::line(std::uint64_t done_bytes, TimePoint now) const {
  constexpr std::size_t kBar = 30;
  const double seconds = std::max(1e-3, milliseconds_between(start_, now) / 1000.0);
  const double done = static_cast<double>(done_bytes), total = static_cast<double>(total_bytes_);
  const double rate = std::max(0.0, done - static_cast<double>(present_bytes_)) / seconds;
  const double left = rate > 0.0 ? (total - done) / rate : 0.0;
  const auto filled = std::min(kBar, static_cast<std::size_t>(done / total * kBar));
  const std::string bar = terminal_ ? fmt::format("[{:<{}}] ", std::string(filled, '#'), kBar) : "";
  return fmt::format("{} {}{:3.0f} %  {} of {}  {}/s  {:.0f} s left", label_, bar, 100.0 * done / total,
                     readable_bytes(done), readable_bytes(total), readable_bytes(rate), left);
}

}  // namespace millrace::app
