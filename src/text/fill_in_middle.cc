#include "text/fill_in_middle.h"

#include <algorithm>
#include <array>

namespace millrace::text {
namespace {

using Names = std::array<std::string_view, 3>;  // those at the end may be empty: none

// Texts of the tokens, for one family each.
struct NamedSpelling {
  Names front, between, back;
  bool suffix_first = false;
};

constexpr auto kSpellings = std::to_array<NamedSpelling>({
    {{"<|fim_prefix|>"}, {"<|fim_suffix|>"}, {"<|fim_middle|>"}},        // Qwen2.5-Coder, CodeGemma, Granite 4
    {{"<fim_prefix>"}, {"<fim_suffix>"}, {"<fim_middle>"}},              // StarCoder, Granite Code, StableCode
    {{"<fim-prefix>"}, {"<fim-suffix>"}, {"<fim-middle>"}},              // SantaCoder
    {{"<｜fim▁begin｜>"}, {"<｜fim▁hole｜>"}, {"<｜fim▁end｜>"}},        // DeepSeek-Coder
    {{"▁<PRE>"}, {"▁<SUF>"}, {"▁<MID>"}},                                // Code Llama
    {{"<|code_prefix|>"}, {"<|code_suffix|>"}, {"<|code_middle|>"}},     // GLM
    {{"<[fim-suffix]>"}, {"<[fim-prefix]>"}, {"<[fim-middle]>"}, true},  // Seed-Coder
    {{"[SUFFIX]"}, {"[PREFIX]"}, {}, true},                              // Codestral
    {{}, {"<mask_1>"}, {"<|endoftext|>", "<sep>", "<mask_1>"}},          // CodeGen 2
});

// Tokens that a model writes where the middle ends, and in some vocabularies ends nothing else.
constexpr auto kEnds = std::to_array<std::string_view>({"▁<EOT>", "<eom>", "<|fim_pad|>", "<fim_pad>", "<|repo_name|>",
                                                        "<|file_sep|>", "<|file_separator|>", "<file_sep>"});

// Of all the names, or of none.
std::optional<std::vector<TokenId>> find_all(const TokenizerParts& parts, const Names& names) {
  std::vector<TokenId> out;
  for (const std::string_view name : names) {
    if (name.empty()) break;
    const TokenId id = parts.find(name);
    if (id < 0) return std::nullopt;
    out.push_back(id);
  }
  return out;
}

}  // namespace

std::optional<MiddleSpelling> find_middle_spelling(const TokenizerParts& parts) {
  std::optional<MiddleSpelling> out;
  const MiddleTokens& given = parts.middle_tokens;
  if (given.prefix && given.suffix && given.middle) {
    out = {.front = {*given.prefix}, .between = {*given.suffix}, .back = {*given.middle}, .ends = given.ends};
  }
  for (const NamedSpelling& one : kSpellings) {
    if (out) break;
    const auto front = find_all(parts, one.front), between = find_all(parts, one.between),
               back = find_all(parts, one.back);
    if (!front || !between || !back) continue;
    out = {.front = *front, .between = *between, .back = *back, .suffix_first = one.suffix_first, .ends = given.ends};
  }
  if (!out) return out;
  for (const std::string_view name : kEnds) {
    const TokenId id = parts.find(name);
    if (id >= 0 && std::ranges::find(out->ends, id) == out->ends.end()) out->ends.push_back(id);
  }
  return out;
}

std::vector<TokenId> middle_prompt(const MiddleSpelling& spelling, std::span<const TokenId> prefix,
                                   std::span<const TokenId> suffix) {
  if (spelling.suffix_first) std::swap(prefix, suffix);
  std::vector<TokenId> out = spelling.front;
  out.insert(out.end(), prefix.begin(), prefix.end());
  out.insert(out.end(), spelling.between.begin(), spelling.between.end());
  out.insert(out.end(), suffix.begin(), suffix.end());
  out.insert(out.end(), spelling.back.begin(), spelling.back.end());
  return out;
}

std::vector<TokenId> encode_continuation(const Tokenizer& tokenizer, std::string_view text) {
  // Behind a character that nothing is merged with there is no such space: Code Llama's authors have it so.
  constexpr std::string_view kBefore = "☺";
  std::vector<TokenId> alone = tokenizer.encode(text, false, false);
  if (alone.empty() || text.starts_with(' ') || !tokenizer.token_text(alone[0]).starts_with(kSpaceSymbol)) return alone;
  const TextPiece piece{.text = std::string(kBefore) + std::string(text), .trusted = false};
  const Tokenizer::Encoding both = tokenizer.encode_with_spans({&piece, 1}, false);
  std::size_t first = 0;
  while (first < both.spans.size() && both.spans[first].end <= kBefore.size()) ++first;
  if (first < both.spans.size() && both.spans[first].begin < kBefore.size()) return alone;
  return {both.ids.begin() + static_cast<std::ptrdiff_t>(first), both.ids.end()};
}

}  // namespace millrace::text
