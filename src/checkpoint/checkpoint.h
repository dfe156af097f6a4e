#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/env.h"
#include "chat/chat_template_set.h"
#include "checkpoint/config_file.h"
#include "checkpoint/generation_config.h"
#include "quant/format.h"
#include "tensor/shape.h"
#include "text/tokenizer.h"

namespace millrace::checkpoint {

// One stored tensor and where its bytes lie. The shape is outermost first: a linear weight is {out, in}.
struct RawTensor {
  std::string name;  // as in the file: "blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight"
  const quant::QuantFormat* format = nullptr;
  std::string_view integer_dtype = {};  // of one without a format: "I32", a literal
  Shape shape;
  int file = 0;                         // index into the checkpoint's files
  std::uint64_t offset = 0, bytes = 0;  // absolute in that file; checked to lie inside it
};

// A tensor of integers: a table besides the weights, or the codes of quantized ones. Its RawTensor has no format.
struct IntegerTensor {
  RawTensor tensor;
  std::int64_t value_bytes = 0;  // size of one value
};

// A model's files, opened and checked: configuration, tensor directory, tokenizer, chat templates, sampling defaults.
// Tensor data are read on demand with pread, never mapped. Immutable after opening; read() is thread-safe.
struct Checkpoint {
  // Safetensors and torch have Hugging Face's configuration and names.
  enum class Container { kGguf, kSafetensors, kTorch };
  Container container = Container::kGguf;
  std::string path;  // the .gguf file or the directory
  ConfigFile config;
  std::string name;  // from the configuration, or the directory's name; may be empty
  GenerationDefaults generation;
  chat::ChatTemplateSet chat_templates;                        // Jinja sources; empty = none
  std::shared_ptr<const text::Tokenizer> tokenizer;            // null if the files hold none
  std::vector<std::shared_ptr<const RandomAccessFile>> files;  // also of copies
  std::string merged;  // SHA-256 of the adapters that its tensors are read with; empty: as the files have them
  std::vector<RawTensor> tensors;  // names are unique
  std::unordered_map<std::string, std::size_t> tensor_index;
  // Only with a quantization_config or other modalities; otherwise tensors of integers are an error.
  std::vector<IntegerTensor> integers;
  std::unordered_map<std::string, std::size_t> integer_index;

  // The tensor of that name; null if there is none.
  const RawTensor* find(const std::string& wanted) const;
  const RawTensor* find_integers(const std::string& wanted) const;
  // Reads the bytes [offset, offset + out.size()) of the tensor.
  Result<void> read(const RawTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const;
  // Bytes that read() was asked for, of this checkpoint and its copies.
  std::uint64_t bytes_read() const noexcept { return bytes_read_->load(std::memory_order_relaxed); }

  std::shared_ptr<std::atomic<std::uint64_t>> bytes_read_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

// Makes the indices of the tensors' names anew. Throws LoadError where two are equal.
void index_names(Checkpoint& checkpoint);

std::string_view to_string(Checkpoint::Container container) noexcept;  // "gguf", "safetensors", "torch"

// Opens a .gguf file, or a directory with config.json and weights in safetensors or torch's format. Errors name file,
// field or tensor, expected and found value. Without text the tokenizer is not read: a rank that another one tells
// what to compute needs none.
Result<std::unique_ptr<Checkpoint>> open_checkpoint(Env& env, const std::string& path, bool with_text = true);

}  // namespace millrace::checkpoint
