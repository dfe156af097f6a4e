#include "server/running_requests.h"

#include <algorithm>
#include <utility>

namespace millrace::server {

RunningRequests::Place::Place(RunningRequests& all, RunningRequest request) : all_(all), request_(std::move(request)) {
  const std::lock_guard lock(all_.mutex_);
  all_.places_.insert(this);
}

RunningRequests::Place::~Place() {
  const std::lock_guard lock(all_.mutex_);
  all_.places_.erase(this);
}

void RunningRequests::Place::prepared(std::string model, std::string tenant, std::int64_t prompt_tokens) {
  const std::lock_guard lock(all_.mutex_);
  request_.model = std::move(model);
  request_.tenant = std::move(tenant);
  request_.prompt_tokens = prompt_tokens;
}

std::vector<RunningRequest> RunningRequests::list() const {
  std::vector<RunningRequest> out;
  {
    const std::lock_guard lock(mutex_);
    for (const Place* place : places_) {
      out.push_back(place->request_);
      out.back().output_tokens = place->output_tokens_.load(std::memory_order_relaxed);
    }
  }
  std::ranges::sort(out, {}, &RunningRequest::received);
  return out;
}

}  // namespace millrace::server
