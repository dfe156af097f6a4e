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

// Writes a time line of steps and requests as Chrome trace events, for ui.perfetto.dev and chrome://tracing. The JSON
// array may end anywhere, so the file of a killed process is valid too. Each model is shown as a process, with a track
// for its engine's steps and one for each request: waiting, prompt chunks, decoding. Thread-safe; never blocks: its own
// thread writes.
class StepTrace {
 public:
  struct Config {
    std::uint64_t max_bytes = std::uint64_t{256} << 20;  // the trace ends there
    std::size_t max_queued = 8192;                       // events, one for each step or request
  };
  // kInvalidArgument or kResourceExhausted, naming the file.
  static Result<std::unique_ptr<StepTrace>> create(Env& env, const std::string& path, const Config& config);
  ~StepTrace();

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

  std::mutex mutex_;                               // guards the members below
  std::vector<std::string> models_;                // index + 1 is the process
  std::set<std::pair<int, std::uint64_t>> begun_;  // process and request whose waiting time is written
  bool full_ = false;                              // max_bytes is reached

  std::thread thread_;
};

}  // namespace millrace::server::observe
