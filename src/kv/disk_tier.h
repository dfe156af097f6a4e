#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/env.h"
#include "kv/page_key.h"

namespace millrace::kv {

struct DiskTierConfig {
  std::string directory;
  std::uint64_t limit_bytes = std::uint64_t{8} << 30;  // of all segments; the least recently used go
  PageOrigin origin;
  std::uint64_t segment_bytes = std::uint64_t{256} << 20;  // a segment is dropped as a whole; at most limit_bytes / 4
  std::uint64_t queue_bytes = std::uint64_t{64} << 20;     // pages that wait to be written; what is more is dropped
  bool background = false;                                 // a thread writes; without it put() does
};

struct DiskTierUse {
  std::int64_t pages = 0, segments = 0;
  std::uint64_t bytes = 0;
  // Counts since opening.
  std::int64_t put = 0, loaded = 0;
  std::int64_t dropped = 0;  // put while the queue was full
  std::int64_t damaged = 0;  // found so when they were read
  bool writing = false;      // this process writes, and nothing has failed
};

// Published pages on disk, found again after a restart: segments of checksummed records, a log that is only appended
// to, so that kill -9 at any point loses at most what was written last and never yields a wrong page. One process
// writes, whichever opens the directory first; others read what is there when they open it. Every failure of the disk
// (full, broken, gone) ends archiving with a warning, never a request. Calls come from one thread.
class DiskTier {
 public:
  // Fails only where the directory can be neither made nor read.
  static Result<std::unique_ptr<DiskTier>> open(Env& env, const DiskTierConfig& config);
  virtual ~DiskTier() = default;  // writes what is queued

  virtual const PageOrigin& origin() const noexcept = 0;
  virtual bool writing() const = 0;  // put() keeps pages
  virtual bool contains(const PageKey& key) const = 0;
  virtual void put(const PageKey& key, std::span<const std::byte> page) = 0;  // nothing if it is there
  virtual bool get(const PageKey& key, std::span<std::byte> page) = 0;        // false: not there or damaged
  // The page is wrong: its segment goes, with all that is in it.
  virtual void remove(const PageKey& key) = 0;
  virtual double load_ms_per_page() const = 0;  // as measured, for load or recompute; 0: not measured yet
  virtual DiskTierUse use() const = 0;
};

}  // namespace millrace::kv
