#include "text/bpe/bpe_model.h"
#include "text/bpe/named_merges.h"
#include "text/containers/gguf_pre_tokenizers.h"
#include "text/containers/gguf_tokens.h"
#include "text/containers/tokenizer_components.h"

// Byte-level BPE with merges; tokenizer.ggml.pre names the pre-tokenizer.
namespace millrace::text::gguf_models {
namespace {

MergeTable read_merges(const GgufVocabulary& v, const TokenizerParts& parts) {
  NamedMerges merges(parts, "tokenizer.ggml.merges[", "]", v.merges.size());
  for (const std::string_view merge : v.merges) {
    const std::size_t space = merge.find(' ', 1);
    merges.add(merge.substr(0, space), space == merge.npos ? "" : merge.substr(space + 1));
  }
  return merges.take();
}

TokenizerParts load_gpt2(const GgufVocabulary& v) {
  const GgufPreTokenizer* pre = find_gguf_pre_tokenizer(v.pre);
  if (v.pre.empty() || v.pre == "default") {
    throw_load_error(
        ErrorCode::kUnsupported, "tokenizer.ggml.pre",
        "tokenizer.ggml.pre is \"{}\": the file does not say how text is cut into words, and guessing would "
        "give other tokens than the model knows; convert the model again",
        v.pre);
  }
  if (pre == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer.ggml.pre", "tokenizer.ggml.pre is \"{}\"; known are {}", v.pre,
                     gguf_pre_tokenizer_names());
  }
  if (v.merges.empty()) {
    throw_load_error(ErrorCode::kBadFile, "tokenizer.ggml.merges",
                     "tokenizer.ggml.merges is missing; model \"gpt2\" needs it");
  }
  TokenizerParts parts = list_gguf_tokens(v, v.tokens);
  parts.kind = "byte-level BPE (" + v.pre + ")";
  if (v.add_space_prefix.value_or(false)) {
    read_own_pre_tokenizer(R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})", parts);
    parts.pre_tokenizer.byte_level = false;
  }
  read_own_pre_tokenizer(pre_tokenizer_json(*pre), parts);
  if (pre->nfc) read_own_normalizer(R"({"type": "NFC"})", parts);
  read_own_decoder(R"({"type": "ByteLevel"})", parts);
  BpeOptions options;
  options.byte_level = parts.pre_tokenizer.byte_level;
  options.ignore_merges = pre->ignore_merges;
  StringTable forms = make_forms(parts.texts, hidden_gguf_tokens(v, parts), options.byte_level);
  parts.model = std::make_unique<BpeModel>(std::move(options), std::move(forms), read_merges(v, parts));
  frame_gguf_text(v, pre->adds_bos, pre->adds_eos, parts);
  return parts;
}

}  // namespace

GgufModel gpt2() { return {"gpt2", load_gpt2}; }

}  // namespace millrace::text::gguf_models
