#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "decode/sequence_breakers.h"
#include "text/tokenizer.h"

namespace millrace::decode {

// The sequence breakers of one tokenizer for recently used sets of strings; the least recently used are dropped.
// Finding breakers reads the whole vocabulary, and most requests name the same strings. Thread-safe. It keeps at most
// kMaxEntries sets, and none larger than kMaxBytes bytes.
class BreakerCache {
 public:
  static constexpr std::size_t kMaxEntries = 16, kMaxBytes = std::size_t{1} << 20;

  explicit BreakerCache(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // The breakers of these strings; the order of the strings is part of the key. If they are not cached, they are made
  // on the calling thread, and no other thread waits for it.
  std::shared_ptr<const SequenceBreakers> get(const std::vector<std::string>& strings);

 private:
  using Breakers = std::shared_ptr<const SequenceBreakers>;
  struct Entry {
    std::vector<std::string> strings;
    Breakers breakers;
  };
  Breakers find(const std::vector<std::string>& strings);

  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace millrace::decode
