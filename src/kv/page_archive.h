#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/env.h"
#include "kv/prefix_match.h"

namespace millrace::kv {

struct ArchiveConfig {
  std::string directory;
  std::uint64_t limit_bytes = std::uint64_t{8} << 30;  // of all segments; the least recently used go
  std::uint64_t model_key = 0;  // of the weights' content, the precision, the type and layout of pages
  std::size_t page_bytes = 0;
};

// Published pages on disk, found again after a restart: segments of checksummed records, a log that is only appended
// to, so that kill -9 at any point loses at most what was written last and never yields a wrong page. One process
// writes; others are told so. Every failure of the disk (full, broken, gone) ends archiving with a warning, never a
// request.
class PageArchive {
 public:
  static Result<std::unique_ptr<PageArchive>> open(Env& env, const ArchiveConfig& config);
  virtual ~PageArchive() = default;

  virtual bool contains(const PageKey& key) const = 0;
  virtual void put(const PageKey& key, std::span<const std::byte> page) = 0;  // nothing if it is there
  virtual bool get(const PageKey& key, std::span<std::byte> page) = 0;        // false: not there or damaged
  virtual double load_ms_per_page() const = 0;                                // as measured, for load or recompute
};

}  // namespace millrace::kv
