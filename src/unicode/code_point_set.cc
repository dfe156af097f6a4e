#include "unicode/code_point_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "unicode/categories.gen.h"
#include "unicode/code_points.h"

namespace millrace::unicode {
namespace {

constexpr char32_t kLastCodePoint = 0x10FFFF;

constexpr std::array<std::string_view, kCategories> kNames = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"};

}  // namespace

std::optional<CategorySet> category_set(std::string_view name) {
  CategorySet set = 0;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i] || (name.size() == 1 && kNames[i][0] == name[0])) set |= 1u << i;
  }
  return set == 0 ? std::nullopt : std::optional(set);
}

CodePointSet CodePointSet::of(CategorySet categories) {
  CodePointSet out;
  for (const CategoryRun* run = std::begin(kCategoryRuns); run != std::end(kCategoryRuns); ++run) {
    if ((categories >> run->category & 1) == 0) continue;
    out.add(run->first, run + 1 == std::end(kCategoryRuns) ? kLastCodePoint : run[1].first - 1);
  }
  return out;
}

CodePointSet CodePointSet::younger_than_unicode14(CategorySet categories) {
  CodePointSet out;
  for (const CategoryChange& change : kCategoryChanges) {
    if (categories >> change.category & 1) out.add(change.first, change.last);
  }
  return out;
}

CodePointSet CodePointSet::han() {
  CodePointSet out;
  for (const CodePointRange& range : kHanRanges) out.add(range.first, range.last);
  return out;
}

CodePointSet CodePointSet::white_space() {
  CodePointSet out = of(kSeparators);
  out.add('\t', '\r');
  out.add(0x85, 0x85);
  return out;
}

void CodePointSet::add(char32_t first, char32_t last) {
  ranges_.push_back({first, last});
  merged_ = false;
}

void CodePointSet::add(const CodePointSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  merged_ = false;
}

const std::vector<CodePointSet::Range>& CodePointSet::ranges() const {
  if (merged_) return ranges_;
  std::ranges::sort(ranges_, {}, &Range::first);
  std::vector<Range> out;
  for (const Range& range : ranges_) {
    if (!out.empty() && range.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  ranges_ = std::move(out);
  merged_ = true;
  return ranges_;
}

CodePointSet CodePointSet::complement() const {
  CodePointSet out;
  char32_t next = 0;
  for (const Range& range : ranges()) {
    if (range.first > next) out.add(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) out.add(next, kLastCodePoint);
  return out;
}

CodePointSet CodePointSet::intersection(const CodePointSet& other) const {
  CodePointSet out = complement();
  out.add(other.complement());
  return out.complement();
}

std::string CodePointSet::as_pcre2() const {
  std::string out;
  const auto put = [&](char32_t first, char32_t last) {
    if (first > last) return;
    fmt::format_to(std::back_inserter(out), "\\x{{{:x}}}", static_cast<std::uint32_t>(first));
    if (last > first) fmt::format_to(std::back_inserter(out), "-\\x{{{:x}}}", static_cast<std::uint32_t>(last));
  };
  constexpr char32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;  // PCRE2 knows none in UTF-8
  for (const Range& range : ranges()) {
    if (range.first < kFirstSurrogate && range.last >= kFirstSurrogate) {
      put(range.first, kFirstSurrogate - 1);
      put(std::max<char32_t>(range.first, kLastSurrogate + 1), range.last);
    } else if (range.first <= kLastSurrogate && range.first >= kFirstSurrogate) {
      put(kLastSurrogate + 1, range.last);
    } else {
      put(range.first, range.last);
    }
  }
  return out;
}

}  // namespace millrace::unicode
