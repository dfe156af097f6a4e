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

// Configuration of speculative decoding. Errors name a field by its flag: "spec-tokens".
struct SpeculationConfig {
  std::string method = "none";   // "none", or one of draft::all_drafters()
  std::string model;             // path of a draft model, or directory of a speculator; empty: none
  std::string rule = "coupled";  // one of decode::all_verification_rules()
  std::int64_t tokens = 16;      // limit of draft tokens of a sequence in a step, [1, draft::kMaxTokens]
  // Limit of branches of a draft tree, [1, draft::kMaxBranches]. Only rule "coupled" uses more than 1.
  int branches = 1;
  bool adaptive = true;           // verify only as many draft tokens as measurements show to be faster
  bool jump_forward = true;       // draft the tokens that a grammar forces
  draft::DrafterOptions options;  // values of the drafters' options

  // kInvalidArgument naming the first invalid field, its value and the limit. `rule` is checked only if `method` is not
  // "none". Reads no file.
  Result<void> validate() const;

  // All functions below throw LoadError. Their order is prepare(), page_bytes(), then apply() or make_drafter().

  // Loads the draft model, if there is one, and returns the options of a drafter for `loaded`, which must outlive it.
  // The options have no KV store yet.
  draft::DrafterOptions prepare(const LoadedModel& loaded, const sched::Config& steps) const;
  // Bytes that the drafter keeps for each page of the model; 0 without a method.
  std::size_t page_bytes(const draft::DrafterOptions& prepared) const;
  // A drafter for the engine of `executor`, which must outlive it.
  std::unique_ptr<draft::Drafter> make_drafter(const engine::LocalExecutor& executor,
                                               draft::DrafterOptions prepared) const;
  engine::SpeculationConfig config() const;
  // Makes the engine of `executor` speculate with a new drafter, and returns its memory. Does nothing without a method.
  draft::DraftMemory apply(engine::Engine& engine, engine::LocalExecutor& executor,
                           draft::DrafterOptions prepared) const;
};

}  // namespace millrace::runtime
