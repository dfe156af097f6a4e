#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/work_limits.h"
#include "unicode/code_point_set.h"

namespace millrace::grammar {

inline constexpr std::int64_t kRangesOfAState = 16;  // ranges of a class that count as one state in limits of work

using RegexNodeId = std::int32_t;  // index of a node within one Regex

struct RegexNode {
  enum class Kind : std::uint8_t { kCharacter, kSequence, kChoice, kRepeat, kTextStart, kTextEnd };
  Kind kind = Kind::kSequence;
  bool has_anchor = false;           // whether it contains a kTextStart or kTextEnd
  unicode::CodePointSet set;         // kCharacter; without surrogates
  std::vector<RegexNodeId> parts;    // kSequence, kChoice; kRepeat has one. All ids are smaller than this node's.
  std::int64_t least = 0, most = 0;  // kRepeat; most -1: no upper limit
};

// A regular expression as a tree whose depth is bounded by WorkLimits.depth.
struct Regex {
  std::vector<RegexNode> nodes;
  RegexNodeId root = 0;
  const RegexNode& at(RegexNodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
};

struct RegexFlags {
  bool ignore_case = false;      // (?i), by simple lowercase
  bool dot_is_anything = false;  // (?s): '.' also matches line ends
};

// Parses ECMA-262 with flag u, and the syntax of Python and Rust that has the same meaning wherever it exists
// (docs/grammar.md). kInvalidArgument for malformed patterns; kUnsupported for look-around, back-references, word
// boundaries, possessive quantifiers and atomic groups. Both name the position in characters, from 0. `limits` bound
// depth and repetitions. Linear.
Result<Regex> parse_regex(std::string_view pattern, const WorkLimits& limits, RegexFlags flags = {});

}  // namespace millrace::grammar
