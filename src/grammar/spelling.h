#pragma once

#include <cstdint>
#include <vector>

#include "grammar/grammar.h"
#include "unicode/code_point_set.h"

namespace millrace::grammar {

struct ByteRange {
  std::uint8_t first, last;
  bool operator==(const ByteRange&) const = default;
};
using ByteSet = std::vector<ByteRange>;  // a byte in one of the ranges
using ByteSets = std::vector<ByteSet>;   // one set for each byte of a sequence

// Sequences of byte sets that are exactly the spellings of the set's characters; surrogates have none. Adjacent
// sequences have common beginnings.
std::vector<ByteSets> spellings(const unicode::CodePointSet& set, Spelling spelling);

}  // namespace millrace::grammar
