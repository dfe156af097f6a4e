#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/message.h"
#include "server/batch/batch_line.h"
#include "server/batch/line_reader.h"

namespace millrace::server::batch {

struct BatchConfig {
  std::size_t max_running = 128;     // requests at once
  std::size_t max_held = 512;        // lines read and not yet written, so that order costs bounded memory
  std::size_t line_bytes = 8 << 20;  // longer lines are errors
  std::function<bool()> gave_up;     // asked a few times a second: nothing more will come of this; empty: never
  std::function<void(std::uint64_t bytes_read)> progress;  // may be empty
};

struct BatchCounts {
  std::int64_t lines = 0, failed = 0;  // failed: answered with an error, or never asked
};

// Answers the requests of a batch file, many at a time and without sockets: reads a line where there is room, writes a
// line each in the order of the input, and waits for neither side alone. One thread.
class BatchRun {
 public:
  // `application` must outlive it. Ids of results begin with `id_prefix`.
  BatchRun(http::Application& application, std::string id_prefix, BatchConfig config);
  ~BatchRun();
  // Until the input has ended and all is written. kResourceExhausted where the output takes no more, kInternal where
  // the input cannot be read or the engine has failed; what was written until then stays.
  Result<BatchCounts> run(int input_fd, int output_fd);

 private:
  class Signal;
  struct Slot;

  void take_lines(LineReader& reader);
  void begin(Slot& slot);
  void look(Slot& slot);
  void finish(Slot& slot, std::string line, bool good);
  void collect();
  Result<void> write_some(int fd);
  Result<void> wait(const LineReader& reader, int input_fd, int output_fd, bool& readable);
  bool has_room() const noexcept { return running_ < config_.max_running && slots_.size() < config_.max_held; }
  std::string id_of(const Slot& slot) const;

  http::Application& application_;
  const std::string id_prefix_;
  const BatchConfig config_;
  std::shared_ptr<Signal> signal_;
  std::deque<std::unique_ptr<Slot>> slots_;  // lines [first_, first_ + size), in order
  std::int64_t first_ = 0;
  std::size_t running_ = 0;
  std::int64_t done_ = 0;
  std::string pending_;  // lines on their way out
  bool output_ready_ = false;
  BatchCounts counts_;
};

}  // namespace millrace::server::batch
