// Any bytes as a segment of an archive of pages, or, after a first byte of 'i', as its index. What is read must be a
// page that somebody could have put there.

#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

#include "base/log.h"
#include "base/memory_env.h"
#include "kv/disk_segment.h"
#include "kv/disk_tier.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  constexpr std::size_t kPageBytes = 40;
  const kv::DiskTierConfig config{.directory = "kv", .origin = {.model_key = 7, .page_bytes = kPageBytes}};
  log::set_level(log::Level::kOff);
  MemoryEnv env;
  const bool index = size > 0 && data[0] == 'i';
  const std::string path = index ? "kv/index" : "kv/segment-0000000000000001.pages";
  env.files["kv/segment-0000000000000001.pages"];
  env.files[path].assign(reinterpret_cast<const char*>(data) + (index ? 1 : 0), size - (index ? 1 : 0));

  std::vector<std::byte> page(kPageBytes);
  const auto file = env.open("kv/segment-0000000000000001.pages").or_throw();
  kv::read_segment_header(*file);
  const auto records = kv::read_record_headers(*file, kPageBytes);
  if (records.size() * kv::record_bytes(kPageBytes) > size) std::abort();
  std::set<kv::PageKey> whole;
  for (const kv::DiskPage& record : records) {
    if (kv::read_record(*file, record.offset, record.key, page)) whole.insert(record.key);
  }
  const auto archive = kv::DiskTier::open(env, config).or_throw();
  for (const kv::DiskPage& record : records) {
    if (archive->get(record.key, page) && !whole.contains(record.key)) std::abort();
  }
  archive->put(kv::PageKey{1}, page);
  if (!archive->contains(kv::PageKey{1})) std::abort();
  return 0;
}
