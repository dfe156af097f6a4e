#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/adapters/adapter_options.h"

namespace millrace::model {

// adapter_config.json of PEFT, as far as it decides what an adapter of LoRA computes.
class PeftConfig {
 public:
  struct Module {
    std::int64_t rank = 0;
    double scale = 0.0;  // the factor of B A
  };
  PeftConfig() = default;
  // What a file without adapter_config.json says of its modules. Throws LoadError for ranks and scales out of range.
  PeftConfig(const std::string& file, std::map<std::string, Module> modules,
             std::vector<std::int32_t> invocation_tokens = {});
  // Throws LoadError naming file and field: kBadFile for values of another type or out of range, kUnsupported for a
  // type that is not LoRA, a form of it that is not supported, and a field that is not known and has an effect.
  PeftConfig(const std::string& file, std::string_view text);

  // The rank that the file says of a module: "model.layers.0.self_attn.q_proj".
  std::int64_t rank(const std::string& module) const;
  // The factor of B A: alpha / rank, or alpha / sqrt(rank) with rsLoRA (arXiv:2312.03732).
  double scale(const std::string& module) const;
  // DoRA, arXiv:2402.09353: modules have magnitudes beside A and B.
  bool dora() const noexcept { return dora_; }
  // Whether each B has a bias.
  bool lora_bias() const noexcept { return lora_bias_; }
  // Modules, by the ends of their names, of which the adapter has whole copies.
  const std::vector<std::string>& modules_to_save() const noexcept { return modules_to_save_; }
  // Parameters, by the ends of their names, that it adapts though they are no weights of linear layers.
  const std::vector<std::string>& target_parameters() const noexcept { return target_parameters_; }
  // Whether the PEFT that wrote it took any parameter [experts, ., .] as [experts, inputs, outputs].
  bool takes_inputs_first() const noexcept { return takes_inputs_first_; }
  // Activated LoRA, arXiv:2504.12397: Adapter::invocation_tokens().
  const std::vector<std::int32_t>& invocation_tokens() const noexcept { return invocation_tokens_; }
  // Forgets one of them, whose tensors are taken elsewhere.
  void forget_saved(const std::string& module) { std::erase(modules_to_save_, module); }
  const LayerReplication& layer_replication() const noexcept { return layers_; }
  bool has_token_indices() const noexcept { return !token_indices_.empty(); }
  // The tokens, at least 0, whose rows of that module the adapter has, in the order of its tensor.
  std::vector<std::int64_t> token_indices(const std::string& module) const;

 private:
  // Expressions of Python that a module's name has to end with, from its beginning or behind a dot, and their values.
  using Patterns = std::vector<std::pair<std::string, double>>;
  static double value_of(const Patterns& patterns, const std::string& module, double otherwise);
  // What patterns call the module: a parameter by its own name.
  std::string name_in_patterns(const std::string& module) const;

  std::int64_t rank_ = 0;
  double alpha_ = 0.0;
  bool rank_stabilized_ = false, dora_ = false, lora_bias_ = false;
  bool takes_inputs_first_ = false;
  std::vector<std::string> modules_to_save_, target_parameters_;
  std::vector<std::int32_t> invocation_tokens_;
  LayerReplication layers_;
  Patterns ranks_, alphas_;
  std::map<std::string, Module> modules_;                                         // of files without patterns
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> token_indices_;  // by module; "": the embedding
};

}  // namespace millrace::model
