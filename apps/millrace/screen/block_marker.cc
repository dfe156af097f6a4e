#include "screen/block_marker.h"

#include <algorithm>

namespace millrace::screen {
namespace {

using Kind = BlockMarker::Kind;

constexpr int kMaxHeadings = 6;
constexpr std::size_t kMaxDigits = 9;
constexpr int kMinFence = 3, kMinRule = 3;

std::size_t run_of(std::string_view text, char c) {
  const std::size_t end = text.find_first_not_of(c);
  return end == text.npos ? text.size() : end;
}

// The marker that ends at `end`, if a blank or the end of the line follows it; else text. `end` is in `rest`.
std::optional<BlockMarker> with_content(BlockMarker found, std::string_view rest, std::size_t before, std::size_t end,
                                        bool complete) {
  if (end == rest.size() && !complete) return std::nullopt;
  if (end < rest.size() && rest[end] != ' ' && rest[end] != '\t')
    return BlockMarker{.indent = found.indent, .content = before};
  const std::size_t content = rest.find_first_not_of(" \t", end);
  found.content = before + (content == rest.npos ? rest.size() : content);
  return found;
}

std::optional<BlockMarker> heading(BlockMarker found, std::string_view rest, std::size_t before, bool complete) {
  const std::size_t size = run_of(rest, '#');
  if (size > kMaxHeadings) return found;
  BlockMarker marker = found;
  marker.kind = Kind::kHeading;
  marker.level = static_cast<int>(size);
  return with_content(marker, rest, before, size, complete);
}

std::optional<BlockMarker> ordered(BlockMarker found, std::string_view rest, std::size_t before, bool complete) {
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
  if (digits > kMaxDigits) return found;
  if (digits == rest.size()) return complete ? std::optional(found) : std::nullopt;
  if (rest[digits] != '.' && rest[digits] != ')') return found;
  BlockMarker marker = found;
  marker.kind = Kind::kOrdered;
  marker.label = rest.substr(0, digits + 1);
  return with_content(marker, rest, before, digits + 1, complete);
}

std::optional<BlockMarker> fence(BlockMarker found, std::string_view rest, std::size_t before, bool complete) {
  const std::size_t size = run_of(rest, rest[0]);
  if (size < kMinFence) return size == rest.size() && !complete ? std::nullopt : std::optional(found);
  if (!complete) return std::nullopt;
  if (rest[0] == '`' && rest.find('`', size) != rest.npos) return found;
  found.kind = Kind::kFence;
  found.level = static_cast<int>(size);
  found.label = rest.substr(0, size);
  found.content = before + size;
  return found;
}

// A bullet, a rule of the same characters ("* * *"), or emphasis.
std::optional<BlockMarker> bullet_or_rule(BlockMarker found, std::string_view rest, std::size_t before, bool complete) {
  const char c = rest[0];
  const bool alone = std::ranges::all_of(rest, [c](char other) { return other == c || other == ' '; });
  if (alone && !complete) return std::nullopt;
  if (alone && c != '+' && std::ranges::count(rest, c) >= kMinRule) {
    found.kind = Kind::kRule;
    return found;
  }
  if (c == '_') return found;
  BlockMarker marker = found;
  marker.kind = Kind::kBullet;
  return with_content(marker, rest, before, 1, complete);
}

}  // namespace

std::optional<BlockMarker> find_block_marker(std::string_view line, bool complete) {
  BlockMarker found;
  std::size_t before = 0;
  for (; before < line.size() && (line[before] == ' ' || line[before] == '\t'); ++before) {
    found.indent += line[before] == '\t' ? 4 - found.indent % 4 : 1;
  }
  found.content = before;
  const std::string_view rest = line.substr(before);
  if (rest.empty()) {
    if (!complete) return std::nullopt;
    found.kind = Kind::kBlank;
    return found;
  }
  switch (rest[0]) {
    case '#': return heading(found, rest, before, complete);
    case '`':
    case '~': return fence(found, rest, before, complete);
    case '-':
    case '+':
    case '*':
    case '_': return bullet_or_rule(found, rest, before, complete);
    case '>':
      found.kind = Kind::kQuote;
      found.content = before + (rest.size() > 1 && rest[1] == ' ' ? 2 : 1);
      return rest.size() > 1 || complete ? std::optional(found) : std::nullopt;
    case '|': found.kind = Kind::kTableRow; return found;
    default: return rest[0] >= '0' && rest[0] <= '9' ? ordered(found, rest, before, complete) : found;
  }
}

}  // namespace millrace::screen
