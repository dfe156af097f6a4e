#include "model/nearest_family.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "checkpoint/quote_name.h"
#include "model/block.h"
#include "model/file_names.h"
#include "model/model_family.h"
#include "model/weight_loader.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;

constexpr std::size_t kNamed = 8;  // of fields and of tensors, in a message

// A family as if the checkpoint were one of its models.
struct Candidate {
  const ModelFamily* family = nullptr;
  std::vector<std::string> unread;     // fields
  std::vector<std::string> unmatched;  // tensors
  std::size_t distance = std::numeric_limits<std::size_t>::max();
};

struct ExpectedTensor {
  std::int64_t values = 0;
  bool required = true;
};
using Expected = std::map<std::string, ExpectedTensor>;  // by the name in the file

void expect(const BlockWeight& weight, std::int64_t layer, const WeightNames& names, Expected& expected) {
  const auto in_file = [&](const std::string& name) { return names.in_file(WeightLoader::layer_name(name, layer)); };
  const bool apart = weight.tensor().find("[]") != std::string::npos;
  const std::int64_t stacked = apart ? 1 : std::max<std::int64_t>(1, weight.experts);
  const std::int64_t values = stacked * weight.tensor_rows();
  for (std::int64_t e = 0; e < (apart ? weight.experts : 1); ++e) {
    expected[WeightLoader::expert_name(in_file(weight.tensor()), e)] = {values *
                                                                        std::max<std::int64_t>(1, weight.cols)};
  }
  if (weight.bias == BiasRule::kNone) return;
  expected[in_file(weight.bias_tensor())] = {values, weight.bias == BiasRule::kRequired};
}

Expected expected_tensors(const ModelSpec& spec, const Checkpoint& checkpoint) {
  Expected expected;
  for (const BlockWeight& weight : outer_weights(spec)) expect(weight, 0, spec.names, expected);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!spec.layers[i].has_weights()) continue;
    const auto layer = static_cast<std::int64_t>(i);
    const HasTensor has = [&](const std::string& pattern) {
      const std::string name = spec.names.in_file(WeightLoader::layer_name(pattern, layer));
      return checkpoint.find(name + ".weight") != nullptr || checkpoint.find(name) != nullptr;
    };
    for (const BlockSpec& block : spec.layers[i].blocks) {
      for (const BlockWeight& weight : block_weights(block, spec, has)) expect(weight, layer, spec.names, expected);
    }
  }
  return expected;
}

// Fields that say nothing of what a model computes.
bool is_beside_the_point(const std::string& field) {
  constexpr std::array kPatterns = {"*_token_id", "*_token_index", "*dropout",          "*pdrop",
                                    "dtype",      "torch_dtype",   "initializer_range", "transformers_version",
                                    "use_cache",  "vision_config", "audio_config"};
  return std::ranges::any_of(kPatterns, [&](std::string_view pattern) { return matches_pattern(pattern, field); });
}

Candidate judge(const ModelFamily& family, const Checkpoint& checkpoint) try {
  checkpoint::ConfigView view = view_as(family, checkpoint.config);
  ModelConfig config = read_shared_config(view, family.defaults);
  complete_from_tensors(checkpoint, config);
  ModelSpec spec = family.spec(view, config);
  find_file_names(checkpoint, spec.names);
  Candidate candidate{.family = &family, .unread = view.unread(), .unmatched = {}};
  std::erase_if(candidate.unread, is_beside_the_point);
  const Expected expected = expected_tensors(spec, checkpoint);
  std::int64_t missing = std::ranges::count_if(expected, [](const auto& tensor) { return tensor.second.required; });
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) {
    const auto known = expected.find(tensor.name);
    const bool fits = known != expected.end() && known->second.values == tensor.shape.elements();
    if (fits && known->second.required) --missing;
    const auto ignores = [&](const std::string& pattern) { return matches_pattern(pattern, tensor.name); };
    if (!fits && std::ranges::none_of(spec.names.ignored, ignores)) candidate.unmatched.push_back(tensor.name);
  }
  candidate.distance = 2 * candidate.unmatched.size() + static_cast<std::size_t>(missing) + candidate.unread.size();
  return candidate;
} catch (const LoadError&) {
  return {.family = &family, .unread = {}, .unmatched = {}};
}

// "model.layers.3.mlp.gate.weight" as "model.layers.{}.mlp.gate.weight", so that layers count once.
std::string without_numbers(const std::string& name) {
  std::string pattern;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9', after_dot = i > 0 && name[i - 1] == '.';
    if (!digit || !after_dot) {
      pattern += name[i];
      continue;
    }
    while (i + 1 < name.size() && name[i + 1] >= '0' && name[i + 1] <= '9') ++i;
    pattern += "{}";
  }
  return pattern;
}

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    const std::string quoted = checkpoint::quote_name(name);
    if (std::ranges::find(shown, quoted) == shown.end()) shown.push_back(quoted);
  }
  const std::size_t all = shown.size();
  shown.resize(std::min(all, kNamed));
  return fmt::format("{}{}", fmt::join(shown, ", "), all > kNamed ? fmt::format(" and {} more", all - kNamed) : "");
}

}  // namespace

Error unknown_architecture(const Checkpoint& checkpoint) {
  // Of several that come as near, the one that most others stem from.
  std::vector<const ModelFamily*> families;
  for (const ModelFamily& family : all_families()) {
    if (!(checkpoint.config.gguf ? family.gguf : family.hf).empty()) families.push_back(&family);
  }
  std::ranges::stable_partition(families, [](const ModelFamily* family) { return family->name == "llama"; });
  Candidate nearest;
  for (const ModelFamily* family : families) {
    Candidate candidate = judge(*family, checkpoint);
    if (candidate.distance < nearest.distance) nearest = std::move(candidate);
  }
  std::string text = fmt::format("{}: unknown architecture {}", checkpoint.path,
                                 checkpoint::quote_name(checkpoint.config.architecture));
  if (nearest.family != nullptr) {
    text += fmt::format("; the nearest family is {}", nearest.family->name);
    if (!nearest.unread.empty()) text += fmt::format(", which does not read {}", listed(nearest.unread));
    std::vector<std::string> patterns;
    for (const std::string& name : nearest.unmatched) patterns.push_back(without_numbers(name));
    if (!patterns.empty()) {
      text += fmt::format("{} has no place for {}", nearest.unread.empty() ? ", which" : " and", listed(patterns));
    }
  }
  return make_error(ErrorCode::kUnsupported, "architecture", "{}; `millrace families` lists those that are known",
                    text);
}

}  // namespace millrace::model
