#pragma once

#include <cstdint>
#include <vector>

#include "draft/acceptance.h"
#include "draft/drafter.h"

namespace millrace::engine {

// Draft tokens of one answer and how often they were accepted so far. Engine thread only.
struct DraftRecord {
  std::int64_t most = draft::kMaxTokens;   // the request's limit of draft tokens in a step; 0 = no speculation
  int max_branches = draft::kMaxBranches;  // the request's limit of tree branches in a step
  std::vector<draft::Token> offered;       // draft tokens for the next step, whether the step computes them or not
  std::vector<draft::Branch> branches;     // further branches for the next step, computed or not
  // The distributions that `offered` was sampled from, one for each token; only if the verification rule reads them.
  std::vector<std::vector<decode::TokenProbability>> distributions;
  draft::Acceptance acceptance{32.0};
  draft::Acceptance forking{32.0};  // of the first tokens of branches that verification reached
  draft::Acceptance mean{32.0};     // over all confidences
  std::int64_t skipped = 0;         // steps since the drafting model last ran only to measure its acceptance anew

  void forget() {  // drops the draft tokens, and keeps the measured acceptance
    offered.clear();
    branches.clear();
    distributions.clear();
  }
};

}  // namespace millrace::engine
