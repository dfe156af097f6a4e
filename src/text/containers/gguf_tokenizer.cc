#include "text/containers/gguf_tokens.h"
#include "text/parts_tokenizer.h"

namespace millrace::text {
namespace {

TokenizerParts load(const GgufVocabulary& vocabulary) {
  check_gguf_vocabulary(vocabulary);
  std::string known;
  for (const GgufModel& model : all_gguf_models()) {
    if (model.name == vocabulary.model) return model.load(vocabulary);
    known += (known.empty() ? "\"" : ", \"") + std::string(model.name) + "\"";
  }
  throw_load_error(ErrorCode::kUnsupported, "tokenizer.ggml.model", "tokenizer.ggml.model is \"{}\"; known are {}",
                   vocabulary.model, known);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_gguf_tokenizer(GgufVocabulary vocabulary) {
  try {
    return make_tokenizer(load(vocabulary));
  } catch (const LoadError& e) {
    return with_advice(e.error(), "The file is damaged: download it again, or convert the model anew",
                       "The model's own files may do: safetensors with a tokenizer.json");
  }
}

}  // namespace millrace::text
