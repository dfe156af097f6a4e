#include "checkpoint/gguf_vocabulary.h"

#include <limits>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

template <typename T>
std::vector<T> one_per_token(const GgufMetadata& metadata, const std::string& key, std::optional<std::vector<T>> values,
                             std::size_t tokens) {
  if (!values) return {};
  if (values->size() == tokens) return *std::move(values);
  throw_load_error(ErrorCode::kBadFile, key, "{}: key {}: {} elements for {} tokens", metadata.file(), quote_name(key),
                   values->size(), tokens);
}

// Files of old converters write the unsigned -1 for "none".
std::optional<text::TokenId> token_id(const GgufMetadata& metadata, const std::string& key, std::size_t tokens) {
  const auto id = metadata.integer(key);
  if (!id || *id == std::numeric_limits<std::uint32_t>::max() || *id == -1) return std::nullopt;
  if (*id < 0 || static_cast<std::size_t>(*id) >= tokens) {
    throw_load_error(ErrorCode::kBadFile, key, "{}: key {}: token {} of {} does not exist", metadata.file(),
                     quote_name(key), *id, tokens);
  }
  return static_cast<text::TokenId>(*id);
}

// Files of converters before 2024-10 have other names for the first three.
text::MiddleTokens middle_tokens(const GgufMetadata& metadata, const std::string& prefix, std::size_t tokens) {
  const auto id = [&](const char* name) { return token_id(metadata, prefix + name + "_token_id", tokens); };
  const auto either = [&](const char* name, const char* old) {
    const auto found = id(name);
    return found ? found : id(old);
  };
  text::MiddleTokens out{.prefix = either("fim_pre", "prefix"),
                         .suffix = either("fim_suf", "suffix"),
                         .middle = either("fim_mid", "middle"),
                         .ends = {}};
  for (const char* name : {"fim_pad", "fim_rep", "fim_sep"}) {
    if (const auto end = id(name)) out.ends.push_back(*end);
  }
  return out;
}

}  // namespace

text::GgufVocabulary gguf_vocabulary(GgufMetadata& metadata) {
  const std::string prefix = "tokenizer.ggml.";
  text::GgufVocabulary out;
  auto tokens = metadata.take_strings(prefix + "tokens");
  if (!tokens) return out;
  out.tokens = *std::move(tokens);
  const std::size_t n = out.tokens.size();
  if (n > static_cast<std::size_t>(std::numeric_limits<text::TokenId>::max())) {
    throw_load_error(ErrorCode::kBadFile, prefix + "tokens", "{}: {} tokens are too many", metadata.file(), n);
  }
  out.model = metadata.required_text(prefix + "model");
  out.pre = metadata.text(prefix + "pre").value_or("");
  out.scores = one_per_token(metadata, prefix + "scores", metadata.floats(prefix + "scores"), n);
  out.token_types = one_per_token(metadata, prefix + "token_type", metadata.int32s(prefix + "token_type"), n);
  out.merges = metadata.take_strings(prefix + "merges").value_or(std::vector<std::string>());
  out.bos = token_id(metadata, prefix + "bos_token_id", n);
  out.eos = token_id(metadata, prefix + "eos_token_id", n);
  out.eot = token_id(metadata, prefix + "eot_token_id", n);
  out.eom = token_id(metadata, prefix + "eom_token_id", n);
  out.middle_tokens = middle_tokens(metadata, prefix, n);
  out.unk = token_id(metadata, prefix + "unknown_token_id", n);
  out.pad = token_id(metadata, prefix + "padding_token_id", n);
  out.sep = token_id(metadata, prefix + "seperator_token_id", n);  // the key's own spelling
  out.add_bos = metadata.boolean(prefix + "add_bos_token");
  out.add_eos = metadata.boolean(prefix + "add_eos_token");
  out.add_sep = metadata.boolean(prefix + "add_sep_token");
  out.add_space_prefix = metadata.boolean(prefix + "add_space_prefix");
  out.remove_extra_whitespaces = metadata.boolean(prefix + "remove_extra_whitespaces");
  out.lowercase = metadata.boolean(prefix + "normalizer.lowercase");
  out.strip_accents = metadata.boolean(prefix + "normalizer.strip_accents");
  out.precompiled_charsmap = metadata.bytes(prefix + "precompiled_charsmap").value_or("");
  return out;
}

}  // namespace millrace::checkpoint
