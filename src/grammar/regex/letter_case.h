#pragma once

#include "unicode/code_point_set.h"

namespace millrace::grammar {

// The set with all characters that differ from one of it by case alone: they have the same lowercase of one character.
unicode::CodePointSet with_other_case(const unicode::CodePointSet& set);

}  // namespace millrace::grammar
