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
  std::size_t max_running = 128;     // limit of requests in flight
  std::size_t max_held = 512;        // limit of lines read and not yet written, since results are written in order
  std::size_t line_bytes = 8 << 20;  // longer lines get an error
  std::function<bool()> gave_up;     // called a few times a second; true ends the run with kInternal; may be empty
  std::function<void(std::uint64_t bytes_read)> progress;  // may be empty
};

struct BatchCounts {
  std::int64_t lines = 0, failed = 0;  // failed: answered with an error, or invalid lines
};

// Answers the requests of a batch file, many at a time and without sockets. Reads lines while there is room, writes the
// results in the order of the input, and never blocks on input or output alone. One thread.
class BatchRun {
 public:
  // `application` must outlive this object. Ids of results begin with `id_prefix`.
  BatchRun(http::Application& application, std::string id_prefix, BatchConfig config);
  ~BatchRun();
  // Runs until the input ends and all results are written. kResourceExhausted if the output cannot be written to,
  // kInternal if the input cannot be read or the engine has failed. Results written before stay.
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
  std::string pending_;  // finished lines that are not written yet
  bool output_ready_ = false;
  BatchCounts counts_;
};

}  // namespace millrace::server::batch
