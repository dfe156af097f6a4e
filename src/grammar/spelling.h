#pragma once

#include <cstdint>
#include <vector>

#include "grammar/grammar.h"
#include "text/code_point_set.h"

namespace millrace::grammar {

struct ByteRange {
  std::uint8_t first, last;
};
using ByteRanges = std::vector<ByteRange>;  // one after another

// Sequences of byte ranges that together are exactly the spellings of the set's characters; surrogates have none.
// Neighbours have their beginnings in common.
std::vector<ByteRanges> spellings(const text::CodePointSet& set, Spelling spelling);

}  // namespace millrace::grammar
