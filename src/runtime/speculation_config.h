#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/option_spec.h"
#include "draft/drafter.h"
#include "engine/engine.h"
#include "engine/local_executor.h"
#include "runtime/loaded_model.h"

namespace millrace::runtime {

// How answers are speculated on. Errors name fields as the flags do: "spec-tokens".
struct SpeculationConfig {
  std::string method = "none";   // "none", or one of draft::all_drafters()
  std::string model;             // path of a draft model, or of the directory of a speculator's heads; empty: none
  std::string rule = "coupled";  // one of decode::all_verification_rules()
  std::int64_t tokens = 16;      // of a sequence and step at most, [1, draft::kMaxTokens]
  int branches = 1;              // of the draft tree at most, [1, draft::kMaxBranches]; above 1: only by rule "coupled"
  bool adaptive = true;          // no more of them than measurements show to be faster
  bool jump_forward = true;      // what a grammar leaves no choice about is drafted
  draft::DrafterOptions options;  // values of the drafters' options

  // kInvalidArgument naming the field, the value and the limit. Of `rule` only where there is a method.
  Result<void> validate() const;

  // What a drafter beside `loaded`, which outlives it, is made from, before there are pages: loads the draft model, if
  // there is one. Throws LoadError, as do those below.
  draft::DrafterOptions prepare(const LoadedModel& loaded, const sched::Config& steps) const;
  // Bytes that it will keep beside each of the model's pages.
  std::size_t page_bytes(const draft::DrafterOptions& prepared) const;
  // For an engine of that executor.
  std::unique_ptr<draft::Drafter> make_drafter(const engine::LocalExecutor& executor,
                                               draft::DrafterOptions prepared) const;
  engine::SpeculationConfig config() const;
  // Lets the engine of that executor speculate so. Returns what that takes.
  draft::DraftMemory apply(engine::Engine& engine, engine::LocalExecutor& executor,
                           draft::DrafterOptions prepared) const;
};

}  // namespace millrace::runtime
