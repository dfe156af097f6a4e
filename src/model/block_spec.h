#pragma once

#include <any>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/norm_spec.h"

namespace millrace::model {

// How the output f of a block joins the residual stream: x += scale * norm(f), and then x = sum_norm(x). The names are
// patterns; a norm without one is none.
struct BlockOutput {
  bool replaces = false;  // x = f, of blocks that have read x before they write f; without norms and scale
  NormSpec norm;
  std::string norm_name;
  float scale = 1.0f;
  NormSpec sum_norm;
  std::string sum_norm_name;

  bool has_norm() const noexcept { return !norm_name.empty(); }
  bool has_sum_norm() const noexcept { return !sum_norm_name.empty(); }
  // x += f, which the block's last product does by itself.
  bool plain() const noexcept { return !replaces && !has_norm() && scale == 1.0f && !has_sum_norm(); }
};

// One block as plain data: its kind, the parameters of that kind, and what happens to its output. Parameters are a
// struct in blocks/<kind>.h with `static constexpr std::string_view kKind`, the sizes, and the names of the block's
// weights.
class BlockSpec {
 public:
  template <typename Params>
    requires requires { Params::kKind; }
  BlockSpec(Params params) : kind_(Params::kKind), params_(std::move(params)) {}  // NOLINT: a layer is a list of these

  BlockOutput output;

  std::string_view kind() const noexcept { return kind_; }
  // The parameters; the block must be of their kind.
  template <typename Params>
  const Params& as() const {
    const Params* params = std::any_cast<Params>(&params_);
    CHECK(params != nullptr);
    return *params;
  }
  // The parameters; null if the block is of another kind.
  template <typename Params>
  Params* find() noexcept {
    return std::any_cast<Params>(&params_);
  }

 private:
  std::string_view kind_;
  std::any params_;
};

// How the blocks of a layer are connected.
enum class ResidualForm {
  kSequential,  // for each block in turn: x += block(x)
  kParallel,    // x += the sum of all blocks of the same x (GPT-J)
};

struct LayerSpec {
  std::vector<BlockSpec> blocks;  // in the order in which they run
  ResidualForm residual = ResidualForm::kSequential;
  // The earlier layer whose weights this one runs with, in models that go through layers several times; -1: its own.
  // The blocks of both are the same but for what happens to their outputs.
  std::int64_t weights_of = -1;

  bool has_weights() const noexcept { return weights_of < 0; }
  // The first block of that kind. CHECKs that the layer has one.
  template <typename Params>
  BlockSpec& block() {
    for (BlockSpec& candidate : blocks) {
      if (candidate.find<Params>() != nullptr) return candidate;
    }
    CHECK(false && "the layer has a block of this kind");
    __builtin_unreachable();
  }
  // Its parameters.
  template <typename Params>
  Params& get() {
    return *block<Params>().template find<Params>();
  }
};

}  // namespace millrace::model
