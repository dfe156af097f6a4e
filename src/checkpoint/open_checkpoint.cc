#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_model.h"
#include "checkpoint/gguf_reader.h"
#include "checkpoint/hf_model.h"

namespace millrace::checkpoint {
namespace {

// By name or, for a link target without one (a blob of the Hugging Face cache), by its first bytes.
bool is_gguf(Env& env, const std::string& path) {
  if (path.ends_with(".gguf") || path.ends_with(".GGUF")) return true;
  const auto file = env.open(path);
  std::array<char, kGgufMagic.size()> magic;
  if (!file || !(*file)->read(0, std::as_writable_bytes(std::span(magic)))) return false;
  return std::string_view(magic.data(), magic.size()) == kGgufMagic;
}

Result<std::unique_ptr<Checkpoint>> with_tokenizer(std::unique_ptr<Checkpoint> checkpoint,
                                                   Result<std::shared_ptr<const text::Tokenizer>> tokenizer) {
  if (!tokenizer) {
    Error error = tokenizer.error();
    error.message = checkpoint->path + ": tokenizer: " + error.message;
    return error;
  }
  checkpoint->tokenizer = *std::move(tokenizer);
  return checkpoint;
}

// By contents, as some models call a tiktoken file tokenizer.model too: a SentencePiece model begins with the tag of
// its first field, lines of JSON with a list, and lines of base64 with neither.
auto loader_of(std::string_view vocabulary) {
  if (vocabulary.front() == '\n') return text::load_sentencepiece_model;
  return vocabulary.front() == '[' ? text::load_plamo_jsonl : text::load_tiktoken;
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> open_checkpoint(Env& env, const std::string& path, bool with_text) {
  if (is_gguf(env, path)) {
    text::GgufVocabulary vocabulary;
    auto checkpoint = read_gguf(env, path, &vocabulary);
    if (!checkpoint || !with_text || vocabulary.tokens.empty()) return checkpoint;
    return with_tokenizer(*std::move(checkpoint), text::load_gguf_tokenizer(std::move(vocabulary)));
  }
  TokenizerFiles files;
  auto checkpoint = read_huggingface(env, path, &files);
  if (!checkpoint || !with_text) return checkpoint;
  const std::vector<std::int32_t> ends = (*checkpoint)->generation.eos_token_ids;
  if (!files.tokenizer_json.empty()) {
    return with_tokenizer(*std::move(checkpoint),
                          text::load_tokenizer_json(files.tokenizer_json, files.tokenizer_config_json, ends));
  }
  if (!files.vocabulary.empty()) {
    return with_tokenizer(*std::move(checkpoint),
                          loader_of(files.vocabulary)(files.vocabulary, files.tokenizer_config_json, ends));
  }
  return checkpoint;
}

}  // namespace millrace::checkpoint
