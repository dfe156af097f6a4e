#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/work_limits.h"
#include "unicode/code_point_set.h"

namespace millrace::grammar {

inline constexpr std::int64_t kRangesOfAState = 16;  // this many ranges of a class cost as much as a state

using RegexNodeId = std::int32_t;  // of one Regex

struct RegexNode {
  enum class Kind : std::uint8_t { kCharacter, kSequence, kChoice, kRepeat, kTextStart, kTextEnd };
  Kind kind = Kind::kSequence;
  bool has_anchor = false;           // a kTextStart or kTextEnd stands in it
  unicode::CodePointSet set;         // kCharacter: without surrogates
  std::vector<RegexNodeId> parts;    // kSequence, kChoice; kRepeat: one. All have smaller ids than this node.
  std::int64_t least = 0, most = 0;  // kRepeat; most -1: any number
};

// A regular expression as a tree whose depth is bounded by WorkLimits.depth.
struct Regex {
  std::vector<RegexNode> nodes;
  RegexNodeId root = 0;
  const RegexNode& at(RegexNodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
};

struct RegexFlags {
  bool ignore_case = false;      // (?i): by simple lowercase
  bool dot_is_anything = false;  // (?s): '.' is line ends too
};

// ECMA-262 with the flag u, and what of Python and Rust means the same in all that have it (docs/grammar.md).
// kInvalidArgument for what is malformed, kUnsupported for look-around, back-references, word boundaries, possessive
// quantifiers and atomic groups; both name the position, in characters from 0. Limits: depth and repeat. Linear.
Result<Regex> parse_regex(std::string_view pattern, const WorkLimits& limits, RegexFlags flags = {});

}  // namespace millrace::grammar
