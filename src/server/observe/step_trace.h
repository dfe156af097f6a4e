#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "base/env.h"
#include "engine/step_report.h"
#include "server/observe/drop_queue.h"
#include "server/observe/request_record.h"

namespace millrace::server::observe {

// Writes a time line of steps and requests to a file, as Chrome's trace events, which ui.perfetto.dev and
// chrome://tracing open. The file is a JSON array that may end anywhere, so that the file of a killed process can be
// read too. Each model is a process of the trace: its engine's steps with their phases, and a track for each answer
// with its wait, the chunks of its prompt and its decoding. A thread of its own writes, so callers never wait.
// Thread-safe.
class StepTrace {
 public:
  struct Config {
    std::uint64_t max_bytes = std::uint64_t{256} << 20;  // of the file; the trace ends there
    std::size_t max_queued = 8192;                       // steps and requests that wait to be written
  };
  // Makes the file at `path`, and replaces an existing one. Errors of Env::create(), naming the path.
  static Result<std::unique_ptr<StepTrace>> create(Env& env, const std::string& path, const Config& config);
  ~StepTrace();  // writes what is queued, and the end of the array

  void step(std::string_view model, const engine::StepReport& report);
  void request(const RequestRecord& record);
  std::int64_t dropped() const noexcept { return queue_.dropped(); }

 private:
  StepTrace(std::unique_ptr<WritableFile> file, std::string path, TimePoint start, const Config& config);
  int process_of(std::string_view model, std::string& events);
  void run();

  const Config config_;
  const std::string path_;
  const TimePoint start_;
  std::unique_ptr<WritableFile> file_;
  DropQueue<std::string> queue_;

  std::mutex mutex_;                               // guards models_, begun_ and full_
  std::vector<std::string> models_;                // the model of process i + 1 is models_[i]
  std::set<std::pair<int, std::uint64_t>> begun_;  // (process, request) whose wait is written
  bool full_ = false;                              // steps and requests are ignored

  std::thread thread_;
};

}  // namespace millrace::server::observe
