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
  std::size_t max_held = 512;        // lines that are read and not yet written; bounds the memory of a run
  std::size_t line_bytes = 8 << 20;  // longer lines get an error as their result
  // Whether the engine has failed, so that the run must end. Called while nothing happens, every 200 ms; empty: never.
  std::function<bool()> gave_up;
  std::function<void(std::uint64_t bytes_read)> progress;  // called after each read with the total; may be empty
};

struct BatchCounts {
  // `lines` counts lines that are not blank; `failed` those that a route answered with a status of at least 400, and
  // those that are no request.
  std::int64_t lines = 0, failed = 0;
};

// Answers the requests of a batch file without sockets, many at a time, and writes one line of result for each line of
// input, in their order. Reading, writing and requests never wait for each other. A request that a full queue rejects
// (429, 503) is tried again once others have ended. One thread.
class BatchRun {
 public:
  // `application` must outlive the run. Ids of results begin with `id_prefix`.
  BatchRun(http::Application& application, std::string id_prefix, BatchConfig config);
  ~BatchRun();
  // Returns when the input has ended and all results are written. The caller keeps both descriptors open. Errors, which
  // leave the lines written before: kResourceExhausted for output-file where a write fails, kInternal for input-file
  // where a read fails, kInternal without a field where gave_up() says so. Call it once.
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
  std::deque<std::unique_ptr<Slot>> slots_;  // lines [first_, first_ + slots_.size()), in order
  std::int64_t first_ = 0;
  std::size_t running_ = 0;    // requests that run
  std::int64_t done_ = 0;      // requests that have ended
  std::string pending_;        // bytes of results that are not written yet
  bool output_ready_ = false;  // the output takes bytes without waiting
  BatchCounts counts_;
};

}  // namespace millrace::server::batch
