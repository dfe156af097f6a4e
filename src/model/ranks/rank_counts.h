#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/ranks/rank_answers.h"

namespace millrace::model {

// Adds what other ranks have counted to what rank 0 has. Statistics of a weight are those of all its rows, whichever
// ranks have them.
void add_counts(std::vector<backend::RoundingStatistics>& all, std::span<const RankCounts> of_others);

}  // namespace millrace::model
