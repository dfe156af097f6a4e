#include "model/weight_walk.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/env.h"

namespace millrace::model {

WeightWalk::WeightWalk(backend::Backend& backend, const std::vector<const backend::Linear*>& weights, std::string model,
                       double round_ms)
    : backend_(backend), model_(std::move(model)), round_ms_(round_ms) {
  for (const backend::Linear* weight : weights) {
    for (std::size_t i = 0; i < weight->checked_parts(); ++i) parts_.push_back({weight, i});
  }
  at_once_ = std::min(parts_.size(), static_cast<std::size_t>(backend.threads()));
}

void WeightWalk::after_step(double ms) {
  if (parts_.empty()) return;
  const auto all = static_cast<double>(parts_.size());
  due_ = std::min(all, due_ + all * ms / round_ms_);
  allowed_ms_ = std::min(0.0, allowed_ms_) + kShare * ms;
  while (due_ >= static_cast<double>(at_once_) && allowed_ms_ > 0.0 && damage_.empty()) {
    const TimePoint start = Clock::now();
    look_at(at_once_);
    due_ -= static_cast<double>(at_once_);
    allowed_ms_ -= milliseconds_between(start, Clock::now());
  }
}

void WeightWalk::look_at(std::size_t parts) {
  std::vector<std::optional<std::string_view>> damaged(parts);
  backend_.for_each(std::ssize(damaged), [&](std::int64_t item) {
    const auto i = static_cast<std::size_t>(item);
    const Part& part = parts_[(next_ + i) % parts_.size()];
    damaged[i] = part.weight->damage(part.number);
  });
  for (const std::optional<std::string_view>& name : damaged) {
    if (!name) continue;
    damage_ = fmt::format("weight {} of {} has changed in memory since it was loaded", *name, model_);
    return;
  }
  next_ += parts;
  if (next_ < parts_.size()) return;
  next_ -= parts_.size();
  ++rounds_;
}

}  // namespace millrace::model
