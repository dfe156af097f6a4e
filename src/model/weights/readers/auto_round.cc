// AutoRound (arXiv:2309.05516): layouts of GPTQ or AWQ under the names auto_round:auto_gptq and auto_round:auto_awq.
// Its own packing, auto_round, is GPTQ's with zero points as they are. extra_config says under names or expressions
// what differs for single modules.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "base/error.h"
#include "checkpoint/quote_name.h"
#include "model/weights/awq_reader.h"
#include "model/weights/gptq_tensors.h"
#include "model/weights/module_pattern.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kAutoRoundMethods[] = {"auto-round", "intel/auto-round"};
enum class Packing : std::uint8_t { kGptq, kAwq, kOwn };

std::optional<Packing> packing_named(std::string_view name) {
  if (name.starts_with("auto_round:")) name.remove_prefix(name.find(':') + 1);
  if (name == "auto_gptq" || name == "gptq") return Packing::kGptq;
  if (name == "auto_awq" || name == "awq") return Packing::kAwq;
  if (name == "auto_round") return Packing::kOwn;
  return std::nullopt;
}

// Files without packing_format name the kernel that they were made for: auto_round:exllamav2, gptq:exllamav2.
Packing packing_of(const JsonFields& quantization) {
  const auto format = quantization.text("packing_format");
  if (!format) {
    const std::string kernel = quantization.text("backend").value_or("");
    if (kernel.find("awq") != std::string::npos) return Packing::kAwq;
    return kernel.find("gptq") != std::string::npos ? Packing::kGptq : Packing::kOwn;
  }
  if (const auto packing = packing_named(*format)) return *packing;
  quantization.unsupported("packing_format",
                           checkpoint::quote_name(*format) +
                               " is not supported, only auto_round:auto_gptq, auto_round:auto_awq and "
                               "auto_round");
}

GptqRules rules_in(const JsonFields& fields, GptqRules defaults) {
  defaults.bits = fields.integer("bits").value_or(defaults.bits);
  defaults.group_size = checked_group_size(fields, fields.integer("group_size").value_or(defaults.group_size));
  defaults.symmetric = fields.boolean("sym").value_or(defaults.symmetric);
  return defaults;
}

class AutoRoundReader final : public MatrixReader {
 public:
  AutoRoundReader(const JsonFields& quantization, const Checkpoint& checkpoint)
      : MatrixReader(checkpoint), packing_(packing_of(quantization)) {
    rules_ =
        rules_in(quantization,
                 {.zeros_less_one = packing_ == Packing::kGptq, .symmetric = true, .group_size = 128, .strict = true});
    const auto own = quantization.object("extra_config");
    if (!own) return;
    for (const auto& [name, value] : quantization.find("extra_config")->items()) {
      if (!value.is_object()) own->wrong_type(name, "an object");
      const JsonFields fields(quantization.file(), value, "quantization_config.extra_config." + name + ".");
      try {
        modules_.push_back({name, ModulePattern("re:(?:" + name + ")$"), rules_in(fields, rules_)});
      } catch (const std::invalid_argument& e) {
        own->unsupported(name, e.what());
      }
    }
  }

 protected:
  std::vector<std::string> modules() const override { return tensors_.stems(".qweight"); }
  bool has_module(const std::string& module) const override { return tensors_.find(module + ".qweight") != nullptr; }
  OpenedMatrix open_module(const std::string& module) const override {
    const GptqRules& rules = rules_of(module);
    if (packing_ != Packing::kAwq) {
      bool contradict = false;
      return open_gptq_matrix(GptqTensors(tensors_, module, rules), rules, contradict);
    }
    if (rules.bits != 4) {
      tensors_.fail(module + ".qweight", fmt::format("{} bits; only 4 are supported of auto_awq", rules.bits));
    }
    const AwqRules awq{.group_size = rules.group_size};
    return open_awq_matrix(tensors_, AwqTensors::of_module(tensors_, module, awq), awq);
  }

 private:
  struct Own {
    std::string name;
    ModulePattern pattern;
    GptqRules rules;
  };
  // An equal name counts before expressions.
  const GptqRules& rules_of(const std::string& module) const {
    const auto equal = std::ranges::find(modules_, module, &Own::name);
    if (equal != modules_.end()) return equal->rules;
    const auto match = std::ranges::find_if(modules_, [&](const Own& own) { return own.pattern.matches(module); });
    return match != modules_.end() ? match->rules : rules_;
  }

  Packing packing_;
  GptqRules rules_;
  std::vector<Own> modules_;
};

bool accepts_auto_round(const JsonFields& quantization, const Checkpoint&) {
  const auto method = quantization.text("quant_method");
  if (method != kAutoRoundMethods[0] && method != kAutoRoundMethods[1]) return false;
  packing_of(quantization);
  const std::string type = quantization.text("data_type").value_or("int");
  if (type != "int")
    quantization.unsupported("data_type", checkpoint::quote_name(type) + " is not supported, only int");
  return true;
}

}  // namespace

WeightReaderKind auto_round() {
  return {.method = kAutoRoundMethods[0],
          .title = "AutoRound",
          .variant = "packing_format",
          .version = 1,
          .accepts = accepts_auto_round,
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<AutoRoundReader>(quantization, checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers
