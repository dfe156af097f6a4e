#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/step_report.h"
#include "server/observe/log_writer.h"
#include "server/observe/request_record.h"

namespace millrace::server::observe {

// Writes one log line for each finished request and, every `period`, one for each model that had steps in it. Lines
// contain no prompts, answers or keys. Thread-safe; calls never wait for the log. `writer` must outlive the log.
class AccessLog {
 public:
  explicit AccessLog(LogWriter& writer, std::chrono::milliseconds period = std::chrono::seconds(10));
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void request(const RequestRecord& record);
  // Adds a step to the traffic of its model.
  void step(std::string_view model, const engine::StepReport& report);

 private:
  // Traffic of one model since its last line. running, waiting and kv_share (used pages / all pages) are of the last
  // step.
  struct Traffic {
    std::int64_t requests = 0, failed = 0, prompt_tokens = 0, cached_tokens = 0, output_tokens = 0, preemptions = 0;
    std::int64_t running = 0, waiting = 0;
    double kv_share = 0.0;
    std::vector<model::RankTime> ranks;  // empty: one rank alone
    bool any = false;
  };
  void run();
  void write_traffic(double seconds);

  LogWriter& writer_;
  const std::chrono::milliseconds period_;
  std::mutex mutex_;  // guards traffic_ and stopping_
  std::condition_variable wake_;
  std::map<std::string, Traffic, std::less<>> traffic_;
  bool stopping_ = false;
  std::thread thread_;
};

// The fields of a finished request's line, in their order.
std::vector<LogField> access_fields(const RequestRecord& record);

}  // namespace millrace::server::observe
