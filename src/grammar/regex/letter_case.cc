#include "grammar/regex/letter_case.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/char_automaton.h"
#include "unicode/category.h"
#include "unicode/code_points.h"
#include "unicode/normalization_classes.h"

namespace millrace::grammar {
namespace {

constexpr char32_t kFewCharacters = 64;  // fewer are looked up one by one

// Of each letter of which others have the same lowercase those others.
using Variants = std::unordered_map<char32_t, std::vector<char32_t>>;

Variants make_variants() {
  std::unordered_map<char32_t, std::vector<char32_t>> of_lower;
  const auto upper = unicode::CodePointSet::of(1u << unicode::kLu | 1u << unicode::kLt);
  for (const auto& range : upper.ranges()) {
    for (char32_t c = range.first; c <= range.last; ++c) {
      std::string lower;
      unicode::append_lower_case(lower, c);
      const unicode::CodePoint first = unicode::code_point_at(lower, 0);
      if (first.size == lower.size() && first.value != c) of_lower[first.value].push_back(c);
    }
  }
  Variants out;
  for (auto& [lower, all] : of_lower) {
    all.push_back(lower);
    for (const char32_t one : all) {
      for (const char32_t other : all) {
        if (one != other) out[one].push_back(other);
      }
    }
  }
  return out;
}

}  // namespace

unicode::CodePointSet with_other_case(const unicode::CodePointSet& set) {
  static const Variants variants = make_variants();
  unicode::CodePointSet out = set;
  for (const auto& range : set.ranges()) {
    if (range.last - range.first < kFewCharacters) {
      for (char32_t c = range.first; c <= range.last; ++c) {
        const auto found = variants.find(c);
        if (found == variants.end()) continue;
        for (const char32_t other : found->second) out.add(other, other);
      }
    } else {
      for (const auto& [letter, others] : variants) {
        if (letter < range.first || letter > range.last) continue;
        for (const char32_t other : others) {
          if (other < range.first || other > range.last) out.add(other, other);
        }
      }
    }
  }
  return out;
}

}  // namespace millrace::grammar
