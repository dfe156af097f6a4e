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

constexpr std::int64_t kLargestPart = 1 << 30;  // rows or columns that share a scale
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
  const std::int64_t bits = weights.integer("num_bits").value_or(8);
  if (bits < 2 || bits > 8) weights.unsupported("num_bits", fmt::format("{}; 2 to 8 expected", bits));
  scheme.bits = static_cast<int>(bits);
  const std::string type = weights.text("type").value_or("int");
  if (type != "int" && type != "float")
    weights.unsupported("type", checkpoint::quote_name(type) + "; int or float expected");
  scheme.floating = type == "float";
  scheme.symmetric = weights.boolean("symmetric").value_or(true);
  scheme.group_size = weights.integer("group_size").value_or(0);
  if (scheme.group_size < -1 || scheme.group_size > kLargestPart) {
    weights.unsupported("group_size", fmt::format("{}; -1, or 1 to {} expected", scheme.group_size, kLargestPart));
  }
  scheme.strategy = weights.text("strategy").value_or(scheme.group_size > 0 ? "group" : "tensor");
  if (std::ranges::find(kStrategies, scheme.strategy) == kStrategies.end()) {
    weights.unsupported("strategy", checkpoint::quote_name(scheme.strategy) + " is not supported");
  }
  const auto within = [](double size) { return size >= 1.0 && size <= static_cast<double>(kLargestPart); };
  if (const auto block = weights.numbers("block_structure");
      block && block->size() == 2 && within((*block)[0]) && within((*block)[1])) {
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
    groups_.push_back({scheme_from(name, *weights), false});
    if (const auto activations = fields.object("input_activations")) {
      groups_.back().scheme.int8_activations =
          activations->text("type").value_or("int") == "int" && activations->integer("num_bits").value_or(8) == 8;
    }
    for (const nlohmann::json& target : value.value("targets", nlohmann::json::array())) {
      if (!target.is_string()) fields.wrong_type("targets", "a list of names");
      add_target(target.get<std::string>(), fields);
    }
  }
}

void CompressedConfig::add_target(const std::string& target, const JsonFields& fields) {
  const std::size_t group = groups_.size() - 1;
  if (is_class(target)) {
    groups_[group].all_linears = true;
  } else if (!target.starts_with("re:")) {
    const auto [known, added] = names_.emplace(target, group);
    if (!added && known->second != group) {
      fields.unsupported("targets", fmt::format("the module {} is also a target of {}", checkpoint::quote_name(target),
                                                groups_[known->second].scheme.group));
    }
  } else {
    try {
      expressions_.emplace(target, Expression{ModulePattern(target), group});
    } catch (const std::invalid_argument& e) {
      fields.unsupported("targets", checkpoint::quote_name(target) + ": " + e.what());
    }
  }
}

const CompressedScheme& CompressedConfig::scheme_of(const std::string& module) const {
  if (const auto named = names_.find(module); named != names_.end()) return groups_[named->second].scheme;
  for (const auto& [text, expression] : expressions_) {
    if (expression.pattern.matches(module)) return groups_[expression.group].scheme;
  }
  const auto by_class = std::ranges::find_if(groups_, &Group::all_linears);
  if (by_class == groups_.end()) {
    fields_.unsupported("config_groups", fmt::format("no group names the module '{}', which is quantized", module));
  }
  return by_class->scheme;
}

}  // namespace millrace::model
