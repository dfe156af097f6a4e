#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "grammar/compiled_grammar.h"
#include "grammar/grammar.h"
#include "grammar/work_limits.h"

namespace millrace::grammar {

// The compiled grammars of one model, made when first requested; the least recently used are dropped. In memory only,
// limited to kMaxBytes; the tenant with the most bytes loses entries first. Thread-safe, but each grammar must be used
// by one thread at a time.
class GrammarCache {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

  explicit GrammarCache(std::shared_ptr<const text::Tokenizer> tokenizer, const WorkLimits& limits = {},
                        std::size_t max_bytes = kMaxBytes);

  // The vocabulary for grammars, made once, by this call or by the first grammar.
  std::shared_ptr<Vocabulary> prepare();
  // The grammar under `key`, which must identify everything that `build` depends on. If it is not cached, it is built
  // on the calling thread; `cancelled` (may be null) ends that with kCancelled. Errors are those of `build` and
  // compile(), and are not cached.
  using Build = std::function<Result<Grammar>(WorkMeter&)>;
  Result<std::shared_ptr<CompiledGrammar>> get(const std::string& key, std::uint32_t tenant, const Build& build,
                                               const std::atomic<bool>* cancelled = nullptr);

  struct Counters {
    std::size_t grammars = 0, bytes = 0;
    std::int64_t hits = 0, misses = 0, evicted = 0;
  };
  Counters counters() const;

 private:
  struct Entry {
    std::string key;
    std::uint32_t tenant;
    std::shared_ptr<CompiledGrammar> grammar;
    std::size_t bytes() const noexcept { return key.size() + grammar->memory(); }
  };
  std::shared_ptr<CompiledGrammar> find(const std::string& key);
  void insert(Entry entry);
  void make_room();

  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const WorkLimits limits_;
  const std::size_t max_bytes_;
  std::once_flag made_vocabulary_;
  std::shared_ptr<Vocabulary> vocabulary_;

  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
  Counters counters_;
};

}  // namespace millrace::grammar
