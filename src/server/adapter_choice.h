#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "model/adapters/adapter_store.h"
#include "server/api_error.h"
#include "server/caller.h"
#include "server/generation_fields.h"
#include "server/hosted_model.h"

namespace millrace::server {

// The part of a model's name in a request that names an adapter: "b" of "a:b" where `names` has "a", nothing of "a",
// and all of a name that is none of the model's.
std::string_view adapter_part(std::string_view requested, const std::vector<std::string>& names);

// The adapters that a request is answered with, as their names stood when it was read, and the name of the one that it
// named as its model, if it did.
struct AdapterChoice {
  std::vector<model::AdapterRef> wanted;
  std::vector<float> scales;  // [wanted]
  std::string name;

  const char* field() const noexcept { return name.empty() ? "lora" : "model"; }
};
// kNotFound naming model or lora for a name that the model has no adapter of, or none that the caller may use;
// kInvalidArgument naming lora where both fields name adapters.
Result<AdapterChoice> choose_adapters(const HostedModel& model, const GenerationFields& fields, const Caller& caller);
// What the engine takes; `leases` are those of choice.wanted.
std::vector<engine::AdapterUse> uses_of(const AdapterChoice& choice, const model::AdapterStore::Leases& leases);
// "2" or "2, 1": the generations of their names, as the header x-lora-generation has them.
std::string generations_of(const model::AdapterStore::Leases& leases);
// Whether an error that the engine ended a request with came from the store.
bool is_adapter_error(const Error& error) noexcept;
// An error of the store as clients get it: 409 where there is no room, or files have changed. Names no directory.
ApiError adapter_error(const AdapterChoice& choice, const Error& error);

}  // namespace millrace::server
