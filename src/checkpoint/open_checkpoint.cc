#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_model.h"

namespace millrace::checkpoint {

Result<std::unique_ptr<Checkpoint>> open_checkpoint(Env& env, const std::string& path) {
  text::GgufVocabulary vocabulary;
  auto checkpoint = read_gguf(env, path, &vocabulary);
  if (!checkpoint || vocabulary.tokens.empty()) return checkpoint;
  auto tokenizer = text::load_gguf_tokenizer(std::move(vocabulary));
  if (!tokenizer) return tokenizer.error();
  (*checkpoint)->tokenizer = *std::move(tokenizer);
  return checkpoint;
}

}  // namespace millrace::checkpoint
