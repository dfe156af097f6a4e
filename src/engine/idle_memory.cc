#include "engine/idle_memory.h"

#include <algorithm>

namespace millrace::engine {
namespace {

constexpr double kSliceMs = 0.5;
constexpr std::int32_t kEvictedAtOnce = 64;

}  // namespace

bool IdleMemory::work(double idle_seconds) {
  if (idle_seconds < config_.free_seconds) return false;
  if (evict(idle_seconds)) return true;
  kv::PagedCache& cache = state_.cache;
  if (given_back_ == cache.changes()) return false;
  if (started_ != cache.changes()) part_ = 0, started_ = cache.changes();
  const std::int32_t parts = cache.memory_parts();
  const TimePoint start = state_.env.now();
  while (part_ < parts && milliseconds_between(start, state_.env.now()) < kSliceMs) cache.give_back(part_++);
  if (part_ < parts) return true;
  given_back_ = started_;
  started_.reset();
  return false;
}

bool IdleMemory::evict(double idle_seconds) {
  kv::PagedCache& cache = state_.cache;
  const std::int32_t cached = cache.use().cached;
  const double again_seconds = cached * cache.recompute_ms_per_page() / 1e3;
  if (idle_seconds < std::max(config_.cached_seconds, config_.recompute_times * again_seconds)) return false;
  const std::size_t page = cache.page_bytes() + cache.window_page_bytes();
  const auto share = static_cast<std::int32_t>(config_.cached_bytes / std::max<std::size_t>(page, 1));
  return cache.shrink(share, kEvictedAtOnce, state_.env.now()) > 0;
}

}  // namespace millrace::engine
