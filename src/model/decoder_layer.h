#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/model_spec.h"

namespace millrace::model {

class WeightLoader;

// A norm's weights: `name`.weight, and for a layer norm `name`.bias, [E].
struct NormWeights {
  backend::DeviceVector weight, bias;

  NormWeights() = default;
  // Throws LoadError naming tensor, expected and found.
  NormWeights(WeightLoader& loader, const std::string& name, const ModelSpec& spec, backend::Backend& backend);
  bool empty() const noexcept { return weight.empty(); }
  // Borrows. Of no weights: the norm that leaves rows as they are, where the backend takes the rows of a product.
  backend::Norm view(const ModelSpec& spec) const;
};

// What a layer works on in a step of T rows, f32.
struct LayerRows {
  backend::DeviceView residual;  // [T, E]: what goes in and comes out
  backend::DeviceView qkv;       // [T, (H + 2K) * D]
  backend::DeviceView attended;  // [T, H * D]
  backend::DeviceView cos_sin;   // [T, rotated]; without data nothing is rotated
  std::span<const backend::SequenceRows> sequences;
};

// One transformer layer: x += attention(norm(x)); x += mlp(norm(x)). Const after load.
class DecoderLayer {
 public:
  // Reads layer `index` of the spec by the spec's names. `inputs`: columns of what attention looks at, 0 = E. Where
  // attention_norm has no name, it looks at that as it is. Throws LoadError naming tensor, expected and found.
  DecoderLayer(WeightLoader& loader, const ModelSpec& spec, std::int64_t index, backend::Backend& backend,
               backend::MatmulPrecision precision, std::int64_t inputs = 0);

  // Keys and values go into `pages`. `x` [T, inputs] is what attention looks at: the residual, unless the layer was
  // made for something else. `spec` and `index` are those it was made with.
  void run(backend::Backend& backend, const ModelSpec& spec, std::int64_t index, const LayerRows& rows,
           backend::DeviceView x, const backend::KvPages& pages) const;

  std::vector<backend::Linear*> linears() const { return {qkv_.get(), o_.get(), up_.get(), down_.get()}; }

 private:
  NormWeights attention_norm_, mlp_norm_;
  backend::DeviceVector q_norm_, k_norm_;
  backend::DeviceVector qkv_bias_, o_bias_, up_bias_, down_bias_;
  std::unique_ptr<backend::Linear> qkv_, o_, up_, down_;  // up_: gate and up stacked when gated
};

}  // namespace millrace::model
