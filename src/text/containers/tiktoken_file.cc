#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/base64.h"
#include "text/bpe/bpe_model.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/cut_merges.h"
#include "text/containers/gguf_pre_tokenizers.h"
#include "text/containers/tokenizer_components.h"
#include "text/containers/tokenizer_config.h"
#include "text/parts_tokenizer.h"

namespace millrace::text {
namespace {

struct SpecialToken {
  TokenId id;
  std::string content;
};
using SpecialTokens = std::vector<SpecialToken>;

// A tiktoken file has ranks and nothing else: the expression and the special tokens are in its authors' code. The
// number of ranks tells the vocabularies apart. `pre` names the expression as GGUF files do.
struct KnownVocabulary {
  std::size_t ranks;
  std::string_view name, pre;
  SpecialTokens (*special)();
  std::string_view bos, eos;
};

SpecialTokens gpt2() { return {{50256, "<|endoftext|>"}}; }

SpecialTokens cl100k() {
  return {{100257, "<|endoftext|>"},
          {100258, "<|fim_prefix|>"},
          {100259, "<|fim_middle|>"},
          {100260, "<|fim_suffix|>"},
          {100276, "<|endofprompt|>"}};
}

SpecialTokens o200k() { return {{199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}}; }

SpecialTokens qwen() {
  SpecialTokens out = {{151643, "<|endoftext|>"}, {151644, "<|im_start|>"}, {151645, "<|im_end|>"}};
  for (int i = 0; i < 205; ++i) out.push_back({151646 + i, fmt::format("<|extra_{}|>", i)});
  return out;
}

SpecialTokens llama3() {
  SpecialTokens out = {
      {128000, "<|begin_of_text|>"},   {128001, "<|end_of_text|>"},   {128004, "<|finetune_right_pad_id|>"},
      {128006, "<|start_header_id|>"}, {128007, "<|end_header_id|>"}, {128008, "<|eom_id|>"},
      {128009, "<|eot_id|>"},          {128010, "<|python_tag|>"}};
  int reserved = 0;
  for (const TokenId id : {128002, 128003, 128005}) {
    out.push_back({id, fmt::format("<|reserved_special_token_{}|>", reserved++)});
  }
  for (TokenId id = 128011; id < 128256; ++id) {
    out.push_back({id, fmt::format("<|reserved_special_token_{}|>", reserved++)});
  }
  return out;
}

SpecialTokens none() { return {}; }

const std::array kVocabularies = {
    KnownVocabulary{50256, "r50k_base", "gpt-2", gpt2, "", "<|endoftext|>"},
    KnownVocabulary{100256, "cl100k_base", "dbrx", cl100k, "", "<|endoftext|>"},
    KnownVocabulary{128000, "Llama 3", "llama3", llama3, "<|begin_of_text|>", "<|eot_id|>"},
    KnownVocabulary{151329, "GLM-4", "glm4", none, "", "<|endoftext|>"},
    KnownVocabulary{151643, "Qwen", "qwen2", qwen, "", "<|im_end|>"},
    KnownVocabulary{163584, "Kimi", "kimi-k2", none, "[BOS]", "[EOS]"},
    KnownVocabulary{199998, "o200k_base", "gpt-4o", o200k, "", "<|endoftext|>"},
};

[[noreturn]] void bad_line(std::size_t line, std::string_view why) {
  throw_load_error(ErrorCode::kBadFile, "tiktoken", "tiktoken file, line {}: {}", line, why);
}

// "base64 rank" a line; the ranks are 0, 1, 2 ... in order.
std::vector<std::string> read_ranks(std::string_view file) {
  if (file.size() > kMaxVocabularyBytes) {
    throw_load_error(ErrorCode::kBadFile, "tiktoken", "the tiktoken file has {} bytes; the limit is {}", file.size(),
                     kMaxVocabularyBytes);
  }
  std::vector<std::string> out;
  for (std::size_t line = 1; !file.empty(); ++line) {
    const std::string_view text = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(file.size(), text.size() + 1));
    if (text.empty()) continue;
    const std::size_t space = text.find(' ');
    auto bytes = decode_base64(text.substr(0, space));
    if (!bytes || bytes->empty() || space == text.npos) bad_line(line, "\"base64 rank\" expected");
    std::size_t rank = 0;
    const std::string_view digits = text.substr(space + 1, text.find('\r') - space - 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (error != std::errc() || end != digits.data() + digits.size() || rank != out.size()) {
      bad_line(line, fmt::format("the rank {} expected", out.size()));
    }
    if (bytes->size() > kMaxAddedTokenBytes) bad_line(line, "a token of more than 1024 bytes");
    if (out.size() >= kMaxTokens) bad_line(line, "too many tokens");
    out.push_back(*std::move(bytes));
  }
  return out;
}

class TiktokenLoader {
 public:
  TokenizerParts load(std::string_view file, std::string_view config_json) {
    const std::vector<std::string> ranks = read_ranks(file);
    const auto* known = std::ranges::find(kVocabularies, ranks.size(), &KnownVocabulary::ranks);
    if (known == kVocabularies.end()) {
      throw_load_error(ErrorCode::kUnsupported, "tiktoken",
                       "a tiktoken file of {} ranks: which expression and special tokens go with it is known for {}",
                       ranks.size(), known_names());
    }
    parts_.kind = fmt::format("byte-level BPE (tiktoken, {})", known->name);
    const TokenizerConfig config = parse_tokenizer_config(config_json);
    add_tokens(ranks, config.added.empty() ? special_tokens(*known) : config.added);
    add_model(ranks, *find_gguf_pre_tokenizer(known->pre));
    parts_.bos = parts_.find_named(config.bos_token.value_or(std::string(known->bos)));
    parts_.eos = parts_.find_named(config.eos_token.value_or(std::string(known->eos)));
    if (known->ranks == 128000 && parts_.bos) parts_.prefix.push_back(*parts_.bos);
    parts_.end_of_generation = find_end_of_generation(parts_);
    return std::move(parts_);
  }

 private:
  static std::string known_names() {
    std::string out;
    for (const KnownVocabulary& v : kVocabularies)
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", v.ranks, v.name);
    return out;
  }

  static std::vector<AddedToken> special_tokens(const KnownVocabulary& known) {
    std::vector<AddedToken> out;
    for (SpecialToken& token : known.special())
      out.push_back({.id = token.id, .content = token.content, .special = true});
    return out;
  }

  void add_tokens(const std::vector<std::string>& ranks, const std::vector<AddedToken>& added) {
    std::vector<std::string> texts;
    texts.reserve(ranks.size() + added.size());
    for (const std::string& bytes : ranks) texts.push_back(spelling_of_bytes(bytes));
    for (const AddedToken& token : added) {
      const auto id = static_cast<std::size_t>(token.id);
      if (token.id < 0 || id >= kMaxTokens || id < ranks.size() || token.content.empty()) continue;
      if (id >= texts.size()) texts.resize(id + 1);
      texts[id] = token.content;
      parts_.added.push_back(token);
    }
    parts_.reserve_texts(texts.size(), texts.size() * 8);
    for (const std::string& text : texts) parts_.add_text(text);
  }

  void add_model(const std::vector<std::string>& ranks, const GgufPreTokenizer& pre) {
    read_own_pre_tokenizer(pre_tokenizer_json(pre), parts_);
    read_own_decoder(R"({"type": "ByteLevel"})", parts_);
    StringTable forms;
    StringIndex by_form;
    for (std::size_t id = 0; id < parts_.texts.size(); ++id) {
      forms.push_back(id < ranks.size() ? ranks[id] : "");
      by_form.insert(forms, static_cast<TokenId>(id));
    }
    BpeOptions options;
    options.byte_level = true;
    options.ignore_merges = true;
    // A pair of tokens merges where their bytes together are a token, the lowest rank first.
    MergeTable merges = merges_of_cuts(
        forms, [&](std::string_view form) { return by_form.find(forms, form); },
        [](TokenId id) { return static_cast<std::uint32_t>(id); });
    parts_.model = std::make_unique<BpeModel>(std::move(options), std::move(forms), std::move(merges));
  }

  TokenizerParts parts_;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_tiktoken(std::string_view file, std::string_view tokenizer_config_json,
                                                       std::span<const TokenId> ends) {
  try {
    TokenizerParts parts = TiktokenLoader().load(file, tokenizer_config_json);
    add_end_tokens(ends, parts);
    return make_tokenizer(std::move(parts));
  } catch (const LoadError& e) {
    return with_advice(e.error(), "The file is damaged: download it again",
                       "Another file of the model may do: a tokenizer.json, or a GGUF file");
  }
}

}  // namespace millrace::text
