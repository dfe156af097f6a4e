#include "kv/segment_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace millrace::kv {
namespace {

constexpr std::string_view kPrefix = "segment-", kSuffix = ".pages";
constexpr std::uint64_t kLastNumber = std::uint64_t{1} << 62;
constexpr std::uint64_t kIndexLimit = std::uint64_t{1} << 30;

std::optional<std::uint64_t> number_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number, 16);
  if (error != std::errc() || end != name.data() + name.size() || number > kLastNumber) return std::nullopt;
  return number;
}

}  // namespace

std::string SegmentSet::path_of(std::uint64_t number) const {
  return fmt::format("{}/{}{:016x}{}", directory_, kPrefix, number, kSuffix);
}

void SegmentSet::open() {
  std::vector<IndexedSegment> known;
  if (const auto text = read_file(env_, index_path(), kIndexLimit)) {
    if (auto index = decode_index(header_, *text)) known = std::move(*index);
  }
  for (const IndexedSegment& segment : known) last_number_ = std::max(last_number_, segment.number);
  for (const std::string& name : env_.list(directory_)) {
    const auto number = number_of(name);
    if (!number || path_of(*number) != directory_ + "/" + name) continue;
    auto file = env_.open(path_of(*number));
    if (!file) continue;
    Segment segment{.file = std::move(*file)};
    segment.bytes = segment.file->size();
    const auto indexed = std::ranges::find(known, *number, &IndexedSegment::number);
    const bool ours = read_segment_header(*segment.file) == header_;
    if (ours && indexed != known.end() && indexed->bytes == segment.bytes) {
      segment.last_used = static_cast<std::uint64_t>(indexed - known.begin()) + 1;
      segment.pages = std::move(indexed->pages);
    } else if (ours) {
      segment.last_used = known.size() + 1 + *number;
      segment.pages = read_record_headers(*segment.file, header_.page_bytes);
    } else {
      ++foreign_;  // last_used stays 0
    }
    insert(*number, std::move(segment));
  }
}

void SegmentSet::hide(const PageKey& key) {
  const auto at = places_.find(key);
  if (at != places_.end()) at->second.hidden = true;
}

void SegmentSet::insert(std::uint64_t number, Segment segment) {
  uses_ = std::max(uses_, segment.last_used);
  last_number_ = std::max(last_number_, number);
  bytes_ += segment.bytes;
  for (const DiskPage& page : segment.pages) places_[page.key] = {number, page.offset};
  segments_.emplace(number, std::move(segment));
}

std::optional<SegmentSet::Place> SegmentSet::find(const PageKey& key) {
  const auto at = places_.find(key);
  if (at == places_.end() || at->second.hidden) return std::nullopt;
  Segment& segment = segments_.at(at->second.segment);
  segment.last_used = ++uses_;
  return Place{segment.file, at->second.offset};
}

void SegmentSet::add_segment(std::uint64_t number, std::shared_ptr<RandomAccessFile> file) {
  insert(number, {.file = std::move(file), .bytes = kSegmentHeaderBytes, .last_used = uses_ + 1, .pages = {}});
}

void SegmentSet::add_page(std::uint64_t number, const DiskPage& page) {
  Segment& segment = segments_.at(number);
  segment.pages.push_back(page);
  segment.bytes += record_bytes(header_.page_bytes);
  bytes_ += record_bytes(header_.page_bytes);
  places_[page.key] = {number, page.offset};
}

std::optional<std::uint64_t> SegmentSet::drop_one(std::uint64_t keep) {
  auto oldest = segments_.end();
  for (auto at = segments_.begin(); at != segments_.end(); ++at) {
    if (at->first == keep) continue;
    if (oldest == segments_.end() || at->second.last_used < oldest->second.last_used) oldest = at;
  }
  if (oldest == segments_.end()) return std::nullopt;
  return drop(oldest);
}

std::optional<std::uint64_t> SegmentSet::drop_segment_of(const PageKey& key) {
  const auto at = places_.find(key);
  if (at == places_.end()) return std::nullopt;
  return drop(segments_.find(at->second.segment));
}

// Those of other models have not been used.
std::optional<std::uint64_t> SegmentSet::drop_own() {
  const auto own = std::ranges::find_if(segments_, [](const auto& at) { return at.second.last_used > 0; });
  if (own == segments_.end()) return std::nullopt;
  return drop(own);
}

std::uint64_t SegmentSet::drop(std::map<std::uint64_t, Segment>::iterator segment) {
  const std::uint64_t number = segment->first;
  for (const DiskPage& page : segment->second.pages) {
    const auto at = places_.find(page.key);
    if (at != places_.end() && at->second.segment == number) places_.erase(at);
  }
  bytes_ -= segment->second.bytes;
  segments_.erase(segment);
  return number;
}

std::string SegmentSet::encoded_index() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;  // last used, number
  for (const auto& [number, segment] : segments_) {
    if (segment.last_used > 0) order.emplace_back(segment.last_used, number);
  }
  std::ranges::sort(order);
  std::vector<IndexedSegment> segments;
  for (const auto& [used, number] : order) {
    const Segment& segment = segments_.at(number);
    segments.push_back({number, segment.bytes, segment.pages});
  }
  return encode_index(header_, segments);
}

}  // namespace millrace::kv
