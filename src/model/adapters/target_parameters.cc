#include "model/adapters/target_parameters.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "model/adapters/adapter_names.h"

namespace millrace::model {
namespace {

constexpr std::string_view kEndsOfMatrices[] = {kMatrixA, kMatrixB};
constexpr std::string_view kWrapper = ".base_layer", kExperts = ".experts", kOnlyParameter = "weight";
// In the order in which modules of experts have them.
constexpr std::string_view kOfExperts[] = {"gate_up_proj", "down_proj"};

// The parameters of a module that are targets, in its order. A target without a module may be one of experts.
std::vector<std::string> parameters_of(const std::string& module, std::span<const std::string> targets) {
  std::vector<std::string> all;
  for (const std::string_view name : kOfExperts) {
    const std::string parameter = module + "." + std::string(name);
    if ((module.ends_with(kExperts) || !std::ranges::count(targets, name)) && is_target_parameter(targets, parameter)) {
      all.push_back(parameter);
    }
  }
  for (const std::string& target : targets) {
    const std::size_t dot = target.rfind('.');
    if (dot == std::string::npos) continue;
    const std::string parameter = module + target.substr(dot);
    const bool known = std::ranges::find(all, parameter) != all.end();
    if (!known && is_target_parameter(targets, parameter)) all.push_back(parameter);
  }
  return all;
}

}  // namespace

bool is_target_parameter(std::span<const std::string> targets, const std::string& parameter) {
  return std::ranges::any_of(
      targets, [&](const std::string& target) { return parameter == target || parameter.ends_with("." + target); });
}

void name_parameters(checkpoint::Checkpoint& tensors, std::span<const std::string> targets) {
  if (targets.empty()) return;
  for (checkpoint::RawTensor& tensor : tensors.tensors) {
    for (const std::string_view end : kEndsOfMatrices) {
      if (!tensor.name.ends_with(end)) continue;
      std::string module = tensor.name.substr(0, tensor.name.size() - end.size());
      std::size_t wrappers = 0;
      for (; module.ends_with(kWrapper); ++wrappers) module.erase(module.size() - kWrapper.size());
      const std::vector<std::string> parameters = parameters_of(module, targets);
      if (wrappers >= parameters.size() || parameters.size() > std::size(kOfExperts)) continue;
      const std::string& parameter = parameters[parameters.size() - 1 - wrappers];
      const bool linear = parameter.ends_with("." + std::string(kOnlyParameter));
      tensor.name = (linear ? module : parameter) + std::string(end);
    }
  }
}

}  // namespace millrace::model
