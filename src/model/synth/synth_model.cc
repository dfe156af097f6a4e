#include "model/synth/synth_model.h"

#include "checkpoint/gguf_reader.h"
#include "quant/random_blocks.h"

namespace millrace::model {

Result<SynthTokenizer> read_synth_tokenizer(Env& env, const std::string& gguf_path) {
  if (!gguf_path.ends_with(".gguf")) {
    return make_error(ErrorCode::kUnsupported, "tokenizer", "{}: the tokenizer must come from a .gguf file", gguf_path);
  }
  try {
    const auto file = env.open(gguf_path).or_throw();
    const checkpoint::GgufHeader header = checkpoint::read_gguf_header(*file);
    SynthTokenizer tokenizer;
    for (const checkpoint::GgufEntry& entry : header.metadata.entries()) {
      if (entry.first.starts_with("tokenizer.")) tokenizer.entries.push_back(entry);
    }
    tokenizer.tokens = static_cast<std::int64_t>(header.metadata.string_count("tokenizer.ggml.tokens"));
    if (tokenizer.tokens == 0) {
      return make_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                        "{}: key 'tokenizer.ggml.tokens' is missing or empty", gguf_path);
    }
    return tokenizer;
  } catch (const LoadError& failure) {
    return failure.error();
  }
}

bool can_synthesize(const quant::QuantFormat& format) {
  return format.pack != nullptr || quant::RandomBlocks::known_for(format);
}

std::uint64_t SynthModel::bytes() const noexcept {
  std::uint64_t total = 0;
  for (const SynthTensor& tensor : tensors) total += tensor.spec.bytes();
  return total;
}

std::int64_t SynthModel::parameters() const noexcept {
  std::int64_t total = 0;
  for (const SynthTensor& tensor : tensors) total += tensor.spec.shape.elements();
  return total;
}

}  // namespace millrace::model
