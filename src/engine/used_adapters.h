#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/executor.h"
#include "engine/request.h"
#include "engine/step_input.h"
#include "kv/prefix_scope.h"

namespace millrace::engine {

// An adapter of a request, and the first position that goes through it.
struct UsedAdapter {
  const AdapterUse* use = nullptr;
  std::int64_t first = 0;
};

// A claim on the adapters of these keys. Null: the store has not all of them.
std::unique_ptr<model::AdapterClaim> claim_adapters(const std::shared_ptr<model::AdapterStore>& store,
                                                    const std::vector<AdapterUse>& adapters);

// Finds the adapters of a request that came by their keys alone, and has the executor share all. kNotFound naming lora,
// or the error of Executor::share().
Result<void> find_adapters(std::vector<AdapterUse>& adapters, Executor& executor);

// Picks those of the found adapters that a request with this prompt uses, in their order. An activated adapter begins
// where its invocation tokens begin in the prompt for the last time, and is not used where they do not occur: PEFT's
// rule.
std::vector<UsedAdapter> used_adapters(const std::vector<AdapterUse>& found, std::span<const std::int32_t> prompt);

// What steps call them.
StepInput::Adapters step_adapters(const std::vector<UsedAdapter>& used);

// Says in a scope what they add, and from where on.
void add_to_scope(const std::vector<UsedAdapter>& used, kv::PrefixScope& scope);

}  // namespace millrace::engine
