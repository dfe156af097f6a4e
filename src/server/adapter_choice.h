#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "server/generation_fields.h"
#include "server/hosted_model.h"

namespace millrace::server {

// The part of a model's name in a request that names an adapter: "b" of "a:b" where `names` has "a", nothing of "a",
// and all of a name that is none of the model's.
std::string_view adapter_part(std::string_view requested, const std::vector<std::string>& names);

// The adapters that a request is answered with, and the name of the one that it named as its model, if it did.
struct AdapterChoice {
  std::vector<engine::AdapterUse> uses;
  std::string name;
};
// kNotFound naming model or lora for a name that the model has no adapter of; kInvalidArgument naming lora where both
// fields name adapters, or one is named twice.
Result<AdapterChoice> choose_adapters(const HostedModel& model, const GenerationFields& fields);

}  // namespace millrace::server
