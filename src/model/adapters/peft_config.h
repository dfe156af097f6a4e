#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::model {

// adapter_config.json of PEFT, as far as it decides what an adapter of LoRA computes.
class PeftConfig {
 public:
  // Throws LoadError naming file and field: kBadFile for values of another type or out of range, kUnsupported for a
  // type that is not LoRA, a form of it that is not supported, and a field that is not known and has an effect.
  PeftConfig(const std::string& file, std::string_view text);

  // The rank that the file says of a module: "model.layers.0.self_attn.q_proj".
  std::int64_t rank(const std::string& module) const;
  // The factor of B A: alpha / rank, or alpha / sqrt(rank) with rsLoRA (arXiv:2312.03732).
  double scale(const std::string& module) const;

 private:
  // Expressions of Python that a module's name has to end with, from its beginning or behind a dot, and their values.
  using Patterns = std::vector<std::pair<std::string, double>>;
  static double value_of(const Patterns& patterns, const std::string& module, double otherwise);

  std::int64_t rank_ = 0;
  double alpha_ = 0.0;
  bool rank_stabilized_ = false;
  Patterns ranks_, alphas_;
};

}  // namespace millrace::model
