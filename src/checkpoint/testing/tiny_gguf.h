#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/gguf_writer.h"

namespace millrace::checkpoint {

// For tests: a valid small GGUF file, a Llama of one layer with a tokenizer of four tokens. Tests change it to make it
// invalid.
struct TinyGguf {
  std::vector<GgufEntry> metadata = {
      {"general.architecture", std::string("llama")},
      {"general.name", std::string("tiny")},
      {"llama.context_length", std::uint32_t{128}},
      {"llama.embedding_length", std::uint32_t{64}},
      {"llama.block_count", std::uint32_t{1}},
      {"llama.feed_forward_length", std::uint32_t{96}},
      {"llama.attention.head_count", std::uint32_t{4}},
      {"llama.attention.head_count_kv", std::uint32_t{2}},
      {"llama.attention.layer_norm_rms_epsilon", 1e-6f},
      {"tokenizer.ggml.model", std::string("gpt2")},
      {"tokenizer.ggml.tokens", GgufArray{std::vector<std::string>{"<s>", "</s>", "a", "b"}}},
      {"tokenizer.ggml.scores", GgufArray{std::vector<float>{0, 0, -1, -2}}},
      {"tokenizer.ggml.token_type", GgufArray{std::vector<std::int32_t>{3, 3, 1, 1}}},
      {"tokenizer.ggml.bos_token_id", std::uint32_t{0}},
      {"tokenizer.ggml.eos_token_id", std::uint32_t{1}},
      {"tokenizer.chat_template", std::string("{{ messages }}")},
  };
  std::vector<TensorSpec> tensors = {
      {"token_embd.weight", quant::find_format("q8_0"), Shape{4, 64}},
      {"blk.0.attn_q.weight", quant::find_format("q4_0"), Shape{64, 64}},
      {"output_norm.weight", quant::find_format("f32"), Shape{64}},
  };

  void set(const std::string& key, GgufValue value) {
    for (GgufEntry& entry : metadata) {
      if (entry.first == key) {
        entry.second = std::move(value);
        return;
      }
    }
    metadata.emplace_back(key, std::move(value));
  }
  void remove(const std::string& key) {
    std::erase_if(metadata, [&](const GgufEntry& entry) { return entry.first == key; });
  }

  // The bytes of the file; all tensor data are zeros.
  std::string bytes() const {
    std::string out = *gguf_header_bytes(metadata, tensors);
    for (const TensorSpec& tensor : tensors) out.resize(out.size() + (tensor.bytes() + 31) / 32 * 32, '\0');
    return out;
  }
};

// The position behind the string `name` in `file`; the name must occur exactly once.
inline std::size_t position_behind(const std::string& file, const std::string& name) {
  return file.find(name) + name.size();
}

// Overwrites the bytes at `position` with those of `value`.
template <typename T>
void patch(std::string& file, std::size_t position, T value) {
  std::memcpy(file.data() + position, &value, sizeof value);
}

}  // namespace millrace::checkpoint
