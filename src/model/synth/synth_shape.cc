#include "model/synth/synth_shape.h"

#include <array>

namespace millrace::model {
namespace {

constexpr std::array kShapes = {
    SynthShape{.name = "tiny",
               .family = "llama",
               .hidden = 256,
               .layers = 2,
               .heads = 4,
               .kv_heads = 2,
               .head_dim = 64,
               .ffn = 512,
               .context = 2048,
               .vocab = 512},
    SynthShape{.name = "tiny-qwen3",
               .family = "qwen3",
               .hidden = 256,
               .layers = 2,
               .heads = 4,
               .kv_heads = 2,
               .head_dim = 64,
               .ffn = 512,
               .context = 2048,
               .vocab = 512,
               .norm_eps = 1e-6},
    SynthShape{.name = "llama-135m",
               .family = "llama",
               .hidden = 576,
               .layers = 30,
               .heads = 9,
               .kv_heads = 3,
               .head_dim = 64,
               .ffn = 1536,
               .context = 8192,
               .vocab = 49152,
               .rope_theta = 100000.0,
               .like = "SmolLM2-135M"},
    SynthShape{.name = "qwen3-0.6b",
               .family = "qwen3",
               .hidden = 1024,
               .layers = 28,
               .heads = 16,
               .kv_heads = 8,
               .head_dim = 128,
               .ffn = 3072,
               .context = 40960,
               .vocab = 151936,
               .rope_theta = 1e6,
               .norm_eps = 1e-6,
               .like = "Qwen3-0.6B"},
    SynthShape{.name = "llama-1b",
               .family = "llama",
               .hidden = 2048,
               .layers = 16,
               .heads = 32,
               .kv_heads = 8,
               .head_dim = 64,
               .ffn = 8192,
               .context = 8192,
               .vocab = 128256,
               .rope_theta = 500000.0,
               .like = "Llama 3.2 1B"},
    SynthShape{.name = "llama-3b",
               .family = "llama",
               .hidden = 3072,
               .layers = 28,
               .heads = 24,
               .kv_heads = 8,
               .head_dim = 128,
               .ffn = 8192,
               .context = 8192,
               .vocab = 128256,
               .rope_theta = 500000.0,
               .like = "Llama 3.2 3B"},
    SynthShape{.name = "llama-8b",
               .family = "llama",
               .hidden = 4096,
               .layers = 32,
               .heads = 32,
               .kv_heads = 8,
               .head_dim = 128,
               .ffn = 14336,
               .context = 8192,
               .vocab = 128256,
               .rope_theta = 500000.0,
               .tied_head = false,
               .like = "Llama 3 8B"},
};

}  // namespace

std::span<const SynthShape> synth_shapes() { return kShapes; }

const SynthShape* find_synth_shape(std::string_view name) noexcept {
  for (const SynthShape& shape : kShapes) {
    if (shape.name == name) return &shape;
  }
  return nullptr;
}

}  // namespace millrace::model
