#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/env.h"

namespace millrace::server {

// A generation request as operators see it while it runs. Contains neither prompt nor answer.
struct RunningRequest {
  std::string id, route, model, tenant;  // empty model: not known yet
  TimePoint received{};
  std::int64_t prompt_tokens = 0, output_tokens = 0;  // output_tokens: of all its answers, as far as they were taken
};

// The generation requests that a server has. Thread-safe.
class RunningRequests {
 public:
  // A request's place in the list, which it leaves when this is destroyed; the list must outlive it.
  class Place {
   public:
    Place(RunningRequests& all, RunningRequest request);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Sets what is known once the request is prepared.
    void prepared(std::string model, std::string tenant, std::int64_t prompt_tokens);
    void add_output_token() noexcept { output_tokens_.fetch_add(1, std::memory_order_relaxed); }

   private:
    friend class RunningRequests;
    RunningRequests& all_;
    RunningRequest request_;  // but output_tokens; guarded by all_.mutex_
    std::atomic<std::int64_t> output_tokens_ = 0;
  };

  std::vector<RunningRequest> list() const;  // the oldest first

 private:
  mutable std::mutex mutex_;
  std::unordered_set<const Place*> places_;
};

}  // namespace millrace::server
