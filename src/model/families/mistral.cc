// Mistral (arXiv:2310.06825) and Ministral 8B: the Llama layer with sliding-window attention, in all layers or some.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kMistralText = R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072,
    "sliding_window": 4096})";

}  // namespace

ModelFamily mistral() {
  return {.name = "mistral",
          .hf = {"MistralForCausalLM", "MinistralForCausalLM"},
          .gguf = {},
          .text_types = {{"mistral", kMistralText}, {"ministral"}},
          .spec = llama_spec};
}

}  // namespace millrace::model::families
