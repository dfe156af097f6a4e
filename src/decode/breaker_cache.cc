#include "decode/breaker_cache.h"

#include <algorithm>

namespace millrace::decode {

std::shared_ptr<const SequenceBreakers> BreakerCache::get(const std::vector<std::string>& strings) {
  if (auto known = find(strings)) return known;
  auto made = find_sequence_breakers(strings, *tokenizer_);
  if (made->memory() > kMaxBytes) return made;
  const std::lock_guard lock(mutex_);
  entries_.push_front({strings, made});
  if (entries_.size() > kMaxEntries) entries_.pop_back();
  return made;
}

BreakerCache::Breakers BreakerCache::find(const std::vector<std::string>& strings) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(entries_, strings, &Entry::strings);
  if (at == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, at);
  return at->breakers;
}

}  // namespace millrace::decode
