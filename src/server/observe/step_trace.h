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

// A time line of scheduler steps and requests as trace events of Chrome, which ui.perfetto.dev and chrome://tracing
// open: an array that may end anywhere, so that what a killed process wrote is good too. Each model is a process: its
// engine's steps with their phases, and a track for each request with its wait, its chunks of prompt and its decoding.
// Thread-safe; never waits: a thread of its own writes.
class StepTrace {
 public:
  struct Config {
    std::uint64_t max_bytes = std::uint64_t{256} << 20;  // then it ends
    std::size_t max_queued = 8192;                       // pieces of text, one a step or request
  };
  // kInvalidArgument or kResourceExhausted naming the file.
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

  std::mutex mutex_;                               // of what follows
  std::vector<std::string> models_;                // by process, from 1
  std::set<std::pair<int, std::uint64_t>> begun_;  // process and request whose wait is written
  bool full_ = false;                              // nothing is queued any more

  std::thread thread_;
};

}  // namespace millrace::server::observe
