#pragma once

#include <cstdint>
#include <vector>

#include "draft/acceptance.h"
#include "draft/drafter.h"

namespace millrace::engine {

// What an answer's drafts have been worth so far.
struct DraftRecord {
  std::int64_t most = draft::kMaxTokens;   // asked for by its request; 0 = none
  int max_branches = draft::kMaxBranches;  // asked for by its request
  std::vector<draft::Token> offered;       // the draft for the next step, also where none of it is computed
  std::vector<draft::Branch> branches;     // and those, likewise
  std::vector<std::vector<decode::TokenProbability>> distributions;  // that it was sampled from, where the rule asks
  draft::Acceptance acceptance{32.0};
  draft::Acceptance forking{32.0};  // of branches' first tokens, where they are reached
  draft::Acceptance mean{32.0};     // of all confidences
  std::int64_t skipped = 0;         // steps since a model was asked only to see whether it got better

  void forget() {  // what was drafted
    offered.clear();
    branches.clear();
    distributions.clear();
  }
};

}  // namespace millrace::engine
