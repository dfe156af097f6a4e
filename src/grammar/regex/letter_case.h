#pragma once

#include "unicode/code_point_set.h"

namespace millrace::grammar {

// The set and all that differs from one of it by case alone: that has the same lowercase, where that is one character.
unicode::CodePointSet with_other_case(const unicode::CodePointSet& set);

}  // namespace millrace::grammar
