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
using ByteSet = std::vector<ByteRange>;  // a byte of any of them
using ByteSets = std::vector<ByteSet>;   // one after another

// Sequences of bytes that together are exactly the spellings of the set's characters; surrogates have none.
// Neighbours have their beginnings in common.
std::vector<ByteSets> spellings(const unicode::CodePointSet& set, Spelling spelling);

}  // namespace millrace::grammar
