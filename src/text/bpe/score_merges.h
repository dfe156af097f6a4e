#pragma once

#include <span>
#include <vector>

#include "text/tokenizer_parts.h"

namespace millrace::text {

// The merges of a SentencePiece BPE vocabulary, which has scores instead: it merges any two neighbours whose
// concatenation is a piece, the highest score first. So every way to cut a piece in two is a merge, ranked by the score
// of the whole. `mergeable` by id: ordinary pieces, not control tokens and bytes. Every score is finite.
MergeTable merges_from_scores(const TokenizerParts& parts, std::span<const float> scores,
                              const std::vector<bool>& mergeable);

}  // namespace millrace::text
