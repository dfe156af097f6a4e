#pragma once

#include <span>
#include <vector>

#include "text/tokenizer_parts.h"

namespace millrace::text {

// The merges of a SentencePiece BPE vocabulary, which has scores instead: any two adjacent symbols whose concatenation
// is a piece merge, the highest score first. So every division of a piece into two is a merge, ranked by the score of
// the whole. `mergeable` is true by id for ordinary pieces, not for control tokens and bytes. All scores must be
// finite.
MergeTable merges_from_scores(const TokenizerParts& parts, std::span<const float> scores,
                              const std::vector<bool>& mergeable);

}  // namespace millrace::text
