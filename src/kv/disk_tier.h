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
  // Limit of all segments together; the least recently used are deleted.
  std::uint64_t limit_bytes = std::uint64_t{8} << 30;
  PageOrigin origin;
  // A segment is deleted as a whole; limited to limit_bytes / 4.
  std::uint64_t segment_bytes = std::uint64_t{256} << 20;
  // Limit of pages that wait to be written; further ones are dropped.
  std::uint64_t queue_bytes = std::uint64_t{64} << 20;
  bool background = false;  // a thread of its own writes; if false, put() writes
};

// Size now, and counts since opening.
struct DiskTierUse {
  std::int64_t pages = 0, segments = 0;
  std::uint64_t bytes = 0;
  std::int64_t put = 0, loaded = 0;
  std::int64_t dropped = 0;  // pages given to put() while the queue was full
  std::int64_t damaged = 0;  // pages that were found damaged when they were read
  bool writing = false;      // this process writes, and no write has failed
};

// Published pages on disk, found again after a restart. They are checksummed records in segments that are only appended
// to, so kill -9 at any point loses at most what was written last and never yields a wrong page. The process that opens
// the directory first writes; others read what is there when they open it. If the disk fails, the tier stops writing
// and logs a warning; no request fails. Calls must come from one thread.
class DiskTier {
 public:
  // Opens or makes the directory. Fails only if it can be neither made nor read.
  static Result<std::unique_ptr<DiskTier>> open(Env& env, const DiskTierConfig& config);
  virtual ~DiskTier() = default;  // writes what is queued

  virtual const PageOrigin& origin() const noexcept = 0;
  virtual bool writing() const = 0;  // whether put() keeps pages
  virtual bool contains(const PageKey& key) const = 0;
  virtual void put(const PageKey& key, std::span<const std::byte> page) = 0;  // does nothing if the page is there
  virtual bool get(const PageKey& key, std::span<std::byte> page) = 0;        // false if it is not there or damaged
  // Deletes the segment of a page whose contents are wrong, with all pages in it.
  virtual void remove(const PageKey& key) = 0;
  // Deletes all pages, as it is not known which have wrong contents; no other model's.
  virtual void clear() = 0;
  // Measured mean, to decide between loading and computing; 0: not measured yet.
  virtual double load_ms_per_page() const = 0;
  virtual DiskTierUse use() const = 0;
};

}  // namespace millrace::kv
