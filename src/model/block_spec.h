#pragma once

#include <any>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace millrace::model {

// One block as plain data: its kind and the parameters of that kind. Parameters are a struct in blocks/<kind>.h with
// `static constexpr std::string_view kKind`, the sizes, and the names of the block's weights.
class BlockSpec {
 public:
  template <typename Params>
    requires requires { Params::kKind; }
  BlockSpec(Params params) : kind_(Params::kKind), params_(std::move(params)) {}  // NOLINT: a layer is a list of these

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
  kSequential,  // for each block in turn: x += block(norm(x))
};

struct LayerSpec {
  std::vector<BlockSpec> blocks;  // in the order in which they run
  ResidualForm residual = ResidualForm::kSequential;

  // The parameters of the first block of that kind. CHECKs that the layer has one.
  template <typename Params>
  Params& get() {
    for (BlockSpec& block : blocks) {
      if (Params* params = block.find<Params>()) return *params;
    }
    CHECK(false && "the layer has a block of this kind");
    __builtin_unreachable();
  }
};

}  // namespace millrace::model
