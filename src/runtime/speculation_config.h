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

// How an engine speculates. Errors name fields as the command line's flags do, for example "spec-tokens".
struct SpeculationConfig {
  std::string method = "none";   // "none", or one of draft::all_drafters()
  std::string model;             // path of a draft model, or of the directory of a speculator's heads; empty: none
  std::string rule = "coupled";  // one of decode::all_verification_rules()
  std::int64_t tokens = 16;      // limit of draft tokens of a sequence in a step, [1, draft::kMaxTokens]
  int branches = 1;  // limit of branches of a draft tree, [1, draft::kMaxBranches]; above 1 only with rule "coupled"
  bool adaptive = true;           // draft fewer tokens where measurements show that this is faster
  bool jump_forward = true;       // draft what a grammar prescribes
  draft::DrafterOptions options;  // values of the drafters' options

  // kInvalidArgument naming the field, the value and the limit. Checks `rule` only if there is a method.
  Result<void> validate() const;

  // The options of a drafter for `loaded`, which must outlive the drafter; loads the draft model, if any. Call it
  // before pages are allocated. This function and those below throw LoadError.
  draft::DrafterOptions prepare(const LoadedModel& loaded, const sched::Config& steps) const;
  // Bytes that the drafter keeps for each page of the model.
  std::size_t page_bytes(const draft::DrafterOptions& prepared) const;
  // Makes the drafter for an engine with that executor.
  std::unique_ptr<draft::Drafter> make_drafter(const engine::LocalExecutor& executor,
                                               draft::DrafterOptions prepared) const;
  engine::SpeculationConfig config() const;
  // Turns speculation on for the engine, whose executor is `executor`. Returns the memory that drafting takes.
  draft::DraftMemory apply(engine::Engine& engine, engine::LocalExecutor& executor,
                           draft::DrafterOptions prepared) const;
};

}  // namespace millrace::runtime
