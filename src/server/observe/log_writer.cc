#include "server/observe/log_writer.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/thread_name.h"
#include "unicode/code_points.h"

namespace millrace::server::observe {
namespace {

// A pipe that poll() calls writable takes as many bytes without blocking (pipe(7)).
constexpr std::size_t kPieceBytes = 4096;
constexpr int kPollMs = 100;

std::string timestamp(LogWriter::WallClock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

}  // namespace

std::string escape_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const unicode::Utf8Unit unit = unicode::next_utf8_unit(text.substr(i));
    const std::size_t length = unit.kind == unicode::Utf8Unit::Kind::kCharacter ? unit.size : 0;
    if (byte == '\n' || byte == '\r' || byte == '\t') {
      out += byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "\\t";
    } else if (byte < 0x20 || byte == 0x7f || length == 0) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) {  // C1 controls
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i + 1]));
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string format_line(LogFormat format, bool colour, log::Level level, LogWriter::WallClock::time_point time,
                        std::string_view message, std::span<const LogField> fields) {
  if (format == LogFormat::kJson) {
    nlohmann::ordered_json line = {
        {"ts", timestamp(time)}, {"level", log::label(level, false)}, {"msg", escape_controls(message)}};
    for (const LogField& field : fields) {
      line[field.name] = field.number ? nlohmann::ordered_json::parse(field.value, nullptr, false)
                                      : nlohmann::ordered_json(escape_controls(field.value));
    }
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  std::string line = fmt::format("{} {} {}", timestamp(time), log::label(level, colour), escape_controls(message));
  for (const LogField& field : fields) {
    const std::string value = escape_controls(field.value);
    const bool quoted = value.empty() || value.find_first_of(" \"=") != std::string::npos;
    line += fmt::format(" {}={}", field.name, quoted ? nlohmann::json(value).dump() : value);
  }
  return line + "\n";
}

LogWriter::LogWriter(const Config& config) : config_(config), queue_(config.max_lines), thread_([this] { run(); }) {
  log::set_sink([this](log::Level level, std::string_view line) { write(level, line); }, [this] { flush(); });
}

LogWriter::~LogWriter() {
  log::set_sink({});
  queue_.close();
  thread_.join();
}

void LogWriter::write(log::Level level, std::string_view message, std::vector<LogField> fields) {
  ++queued_;
  if (!queue_.push({level, WallClock::now(), std::string(message), std::move(fields)})) ++done_;
}

void LogWriter::flush() {
  const std::int64_t all = queued_;
  const auto end = std::chrono::steady_clock::now() + config_.last_words;
  while (done_ < all && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// All of it, or false: the descriptor is broken, or the writer is to end and it is not read.
bool LogWriter::put(std::string_view bytes) {
  std::chrono::steady_clock::time_point give_up{};
  while (!bytes.empty()) {
    pollfd ready{.fd = config_.fd, .events = POLLOUT, .revents = 0};
    const int polled = ::poll(&ready, 1, kPollMs);
    if (polled < 0 && errno != EINTR) return false;
    if (polled > 0) {
      const ssize_t written = ::write(config_.fd, bytes.data(), std::min(bytes.size(), kPieceBytes));
      if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (!queue_.closed()) continue;
    const auto now = std::chrono::steady_clock::now();
    if (give_up == std::chrono::steady_clock::time_point{}) give_up = now + config_.last_words;
    if (now >= give_up) return false;
  }
  return true;
}

void LogWriter::run() {
  name_thread("log");
  std::int64_t told = 0;
  for (;;) {
    const bool ending = queue_.closed();
    std::vector<Line> lines = queue_.take(config_.tick);
    std::string text;
    for (const Line& line : lines) {
      text += format_line(config_.format, config_.colour, line.level, line.time, line.message, line.fields);
    }
    const auto count = static_cast<std::int64_t>(lines.size());
    if (!put(text)) queue_.drop(count);
    done_ += count;
    if (const std::int64_t dropped = queue_.dropped(); dropped > told && !ending) {
      (void)put(format_line(config_.format, config_.colour, log::Level::kWarn, WallClock::now(),
                            fmt::format("{} log lines were dropped: their reader is too slow", dropped - told), {}));
      told = dropped;
    }
    if (ending) return;
  }
}

}  // namespace millrace::server::observe
