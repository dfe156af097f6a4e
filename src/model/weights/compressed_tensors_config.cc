#include "model/weights/compressed_tensors_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::model {
namespace {

using checkpoint::JsonFields;

constexpr std::array<std::string_view, 5> kStrategies = {"tensor", "channel", "group", "tensor_group", "block"};
constexpr std::array<std::string_view, 9> kFormats = {"pack-quantized",  "int-quantized",        "float-quantized",
                                                      "naive-quantized", "nvfp4-pack-quantized", "mxfp4-pack-quantized",
                                                      "mxfp8-quantized", "mixed-precision",      "dense"};

void check_format(const JsonFields& fields) {
  const auto format = fields.text("format");
  if (!format || std::ranges::find(kFormats, *format) != kFormats.end()) return;
  fields.unsupported("format", checkpoint::quote_name(*format) + " is not supported, only " +
                                   fmt::format("{}", fmt::join(kFormats, ", ")));
}

CompressedScheme scheme_from(const std::string& group, const JsonFields& weights) {
  CompressedScheme scheme{.group = group};
  scheme.bits = static_cast<int>(weights.integer("num_bits").value_or(8));
  if (scheme.bits < 2 || scheme.bits > 8)
    weights.unsupported("num_bits", fmt::format("{}; 2 to 8 expected", scheme.bits));
  const std::string type = weights.text("type").value_or("int");
  if (type != "int" && type != "float")
    weights.unsupported("type", checkpoint::quote_name(type) + "; int or float expected");
  scheme.floating = type == "float";
  scheme.symmetric = weights.boolean("symmetric").value_or(true);
  scheme.group_size = weights.integer("group_size").value_or(0);
  scheme.strategy = weights.text("strategy").value_or(scheme.group_size > 0 ? "group" : "tensor");
  if (std::ranges::find(kStrategies, scheme.strategy) == kStrategies.end()) {
    weights.unsupported("strategy", checkpoint::quote_name(scheme.strategy) + " is not supported");
  }
  if (const auto block = weights.numbers("block_structure"); block && block->size() == 2) {
    scheme.block_rows = static_cast<std::int64_t>((*block)[0]);
    scheme.block_cols = static_cast<std::int64_t>((*block)[1]);
  }
  if (scheme.strategy == "block" && (scheme.block_rows < 1 || scheme.block_cols < 1)) {
    weights.unsupported("block_structure", "two numbers from 1 on expected");
  }
  if (const auto* order = weights.find("actorder"); order != nullptr && order->is_string()) {
    scheme.ordered = order->get<std::string>() == "group";
  }
  return scheme;
}

// Names of classes: a module's own name has a dot or begins in lower case.
bool is_class(const std::string& target) {
  return !target.starts_with("re:") && target.find('.') == std::string::npos && !target.empty() &&
         std::isupper(static_cast<unsigned char>(target.front())) != 0;
}

}  // namespace

CompressedConfig::CompressedConfig(const JsonFields& quantization) : fields_(quantization) {
  check_format(quantization);
  if (const auto* transforms = quantization.find("transform_config");
      transforms != nullptr && transforms->is_object() &&
      !transforms->value("config_groups", nlohmann::json()).empty()) {
    quantization.unsupported("transform_config", "rotations at run time are not supported");
  }
  if (const auto sparse = quantization.object("sparsity_config")) {
    const std::string format = sparse->text("format").value_or("dense");
    if (format != "dense")
      sparse->unsupported("format", checkpoint::quote_name(format) + " is not supported, only dense");
  }
  const auto groups = quantization.object("config_groups");
  if (!groups) quantization.unsupported("config_groups", "missing");
  const nlohmann::json& json = *quantization.find("config_groups");
  for (const auto& [name, value] : json.items()) {
    if (!value.is_object()) groups->wrong_type(name, "an object");
    const JsonFields fields(quantization.file(), value, "config_groups." + name + ".");
    check_format(fields);
    const auto weights = fields.object("weights");
    if (!weights) continue;
    Group group{scheme_from(name, *weights), {}, false};
    for (const nlohmann::json& target : value.value("targets", nlohmann::json::array())) {
      if (!target.is_string()) fields.wrong_type("targets", "a list of names");
      const std::string text = target.get<std::string>();
      group.all_linears = group.all_linears || is_class(text);
      if (is_class(text)) continue;
      try {
        group.modules.emplace_back(text);
      } catch (const std::invalid_argument& e) {
        fields.unsupported("targets", checkpoint::quote_name(text) + ": " + e.what());
      }
    }
    groups_.push_back(std::move(group));
  }
}

const CompressedScheme& CompressedConfig::scheme_of(const std::string& module) const {
  const Group* found = nullptr;
  for (const Group& group : groups_) {
    const auto match = [&](const ModulePattern& pattern) { return pattern.matches(module); };
    if (std::ranges::none_of(group.modules, match)) continue;
    if (found != nullptr) {
      fields_.unsupported("config_groups", fmt::format("{} and {} both name the module '{}'", found->scheme.group,
                                                       group.scheme.group, module));
    }
    found = &group;
  }
  if (found != nullptr) return found->scheme;
  const auto by_class = std::ranges::find_if(groups_, &Group::all_linears);
  if (by_class == groups_.end()) {
    fields_.unsupported("config_groups", fmt::format("no group names the module '{}', which is quantized", module));
  }
  return by_class->scheme;
}

}  // namespace millrace::model
