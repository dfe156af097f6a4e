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

// A tokenizer's sequence breakers, the last used first: to find them reads the whole vocabulary, and requests mostly
// ask for the same. Thread-safe; at most kMaxEntries, and nothing larger than kMaxBytes is kept.
class BreakerCache {
 public:
  static constexpr std::size_t kMaxEntries = 16, kMaxBytes = std::size_t{1} << 20;

  explicit BreakerCache(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // The breakers of these strings in this order. Found on the calling thread where they are not there; no other thread
  // waits for that.
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
