#include "kv/disk_index.h"

#include <string_view>

#include "base/checksum.h"

namespace millrace::kv {
namespace {

constexpr std::uint64_t kMagic = 0x3278646e692d7270;

template <typename T>
void put(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Takes values from the front; `ok` says whether all of them were there.
struct Reader {
  std::string_view left;
  bool ok = true;

  template <typename T>
  T take() {
    T value{};
    if (left.size() < sizeof(T)) {
      ok = false;
    } else {
      left.copy(reinterpret_cast<char*>(&value), sizeof(T));
      left.remove_prefix(sizeof(T));
    }
    return value;
  }
};

IndexedSegment take_segment(Reader& reader) {
  IndexedSegment segment{reader.take<std::uint64_t>(), reader.take<std::uint64_t>(), {}};
  const auto n = reader.take<std::uint64_t>();
  if (n > reader.left.size() / (sizeof(PageKey) + sizeof(std::uint64_t))) reader.ok = false;
  for (std::uint64_t i = 0; reader.ok && i < n; ++i) {
    const auto key = reader.take<PageKey>();
    segment.pages.push_back({key, reader.take<std::uint64_t>()});
  }
  return segment;
}

}  // namespace

std::string encode_index(const SegmentHeader& header, std::span<const IndexedSegment> segments) {
  std::string text;
  put(text, kMagic);
  put(text, header.model_key);
  put(text, header.page_bytes);
  put(text, static_cast<std::uint64_t>(segments.size()));
  for (const IndexedSegment& segment : segments) {
    put(text, segment.number);
    put(text, segment.bytes);
    put(text, static_cast<std::uint64_t>(segment.pages.size()));
    for (const DiskPage& page : segment.pages) {
      put(text, page.key);
      put(text, page.offset);
    }
  }
  put(text, checksum(std::string_view(text)));
  return text;
}

std::optional<std::vector<IndexedSegment>> decode_index(const SegmentHeader& header, std::string_view text) {
  if (text.size() < sizeof(std::uint64_t)) return std::nullopt;
  const std::string_view body = text.substr(0, text.size() - sizeof(std::uint64_t));
  Reader sum{text.substr(body.size())};
  if (sum.take<std::uint64_t>() != checksum(body)) return std::nullopt;
  Reader reader{body};
  if (reader.take<std::uint64_t>() != kMagic || reader.take<std::uint64_t>() != header.model_key ||
      reader.take<std::uint64_t>() != header.page_bytes) {
    return std::nullopt;
  }
  std::vector<IndexedSegment> segments;
  const auto n = reader.take<std::uint64_t>();
  for (std::uint64_t i = 0; reader.ok && i < n; ++i) segments.push_back(take_segment(reader));
  if (!reader.ok || !reader.left.empty()) return std::nullopt;
  return segments;
}

}  // namespace millrace::kv
