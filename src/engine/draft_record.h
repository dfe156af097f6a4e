#pragma once

#include <cstdint>
#include <vector>

#include "draft/acceptance.h"
#include "draft/drafter.h"

namespace millrace::engine {

// State of speculation for one answer: its draft, and how often its draft tokens were accepted.
struct DraftRecord {
  std::int64_t most = draft::kMaxTokens;   // limit of draft tokens in a step, by its request; 0 = none
  int max_branches = draft::kMaxBranches;  // limit of branches, by its request
  std::vector<draft::Token> offered;       // the draft for the next step, tokens that are not verified included
  std::vector<draft::Branch> branches;     // further branches, likewise
  std::vector<std::vector<decode::TokenProbability>> distributions;  // of the draft tokens, if the rule needs them
  draft::Acceptance acceptance{32.0};
  draft::Acceptance forking{32.0};  // of first tokens of branches, where verification reached them
  draft::Acceptance mean{32.0};     // of all draft tokens, whatever their confidence
  std::int64_t skipped = 0;         // steps since a drafting model was last asked only to measure its acceptance

  void forget() {  // drops the draft, keeps the rates
    offered.clear();
    branches.clear();
    distributions.clear();
  }
};

}  // namespace millrace::engine
