#include "model/weight_importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::model {
namespace {

using checkpoint::ImportanceMatrix;

// Roles whose inputs are the same, with the name of their fused tensor.
constexpr std::array<std::string_view, 4> kSameInput[] = {
    {"attn_q", "attn_k", "attn_v", "attn_qkv"},
    {"ffn_gate", "ffn_up"},  // fused, they are called ffn_up
    {"ffn_gate_exps", "ffn_up_exps", "ffn_gate_up_exps"},
    {"ffn_gate_shexp", "ffn_up_shexp"},
};

std::string entry_name(std::string_view layer, std::string_view role) {
  return fmt::format("blk.{}.{}.weight", layer, role);
}

// The digits that stand for `{}` in the weight's pattern; empty if it has none.
std::string layer_of(const std::string& name, const BlockWeight& weight) {
  const std::size_t at = weight.tensor().find("{}");
  if (at == std::string::npos || at > name.size()) return {};
  return name.substr(at, name.find_first_not_of("0123456789", at) - at);
}

}  // namespace

std::vector<std::string> importance_entries(const std::string& name, const BlockWeight& weight) {
  const std::string layer = layer_of(name, weight);
  std::vector<std::string> names = {entry_name(layer, weight.role)};
  for (const auto& roles : kSameInput) {
    if (std::ranges::find(roles, weight.role) == roles.end()) continue;
    for (const std::string_view role : roles) {
      if (!role.empty()) names.push_back(entry_name(layer, role));
    }
  }
  return names;
}

ColumnImportance importance_of(const ImportanceMatrix& matrix, const std::string& name, const BlockWeight& weight) {
  const std::vector<std::string> names = importance_entries(name, weight);
  const auto known = std::ranges::find_if(names, [&](const auto& entry) { return matrix.means.contains(entry); });
  if (known == names.end()) return nullptr;
  const std::vector<float>& means = matrix.means.at(*known);
  const auto cols = static_cast<std::size_t>(weight.cols), all = cols + static_cast<std::size_t>(weight.zero_cols);
  const auto experts = static_cast<std::size_t>(std::max<std::int64_t>(1, weight.experts));
  if (means.size() != cols && means.size() != experts * cols) {
    const std::string of_experts = experts > 1 ? fmt::format(", or {} for {} experts", experts * cols, experts) : "";
    throw_load_error(ErrorCode::kInvalidArgument, "imatrix",
                     "{}: tensor {} has {} values, the model's has {} columns{}", matrix.path,
                     checkpoint::quote_name(*known), means.size(), cols, of_experts);
  }
  auto values = std::make_shared<std::vector<float>>(means.size() / cols * all);
  for (std::size_t i = 0; i < means.size(); ++i) {
    const auto place = weight.column_turns.place(static_cast<std::int64_t>(i % cols), weight.cols);
    (*values)[i / cols * all + i % cols] = means[i / cols * cols + static_cast<std::size_t>(place)];
  }
  return values;
}

}  // namespace millrace::model
