#include "text/bpe_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "text/unicode.h"

namespace millrace::text {
namespace {

constexpr std::size_t kMaxWordBytes = std::size_t{1} << 30;

}  // namespace

BpeModel::BpeModel(BpeOptions options, StringTable forms, MergeTable merges)
    : options_(options), forms_(std::move(forms)), merges_(std::move(merges)) {
  index_.reserve(forms_.size());
  for (std::size_t id = 0; id < forms_.size(); ++id) {
    index_.insert(forms_, static_cast<TokenId>(id));
    longest_ = std::max(longest_, forms_[id].size());
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    const std::string form = options_.byte_level ? std::string(1, raw) : fmt::format("<0x{:02X}>", byte);
    byte_tokens_.push_back(index_.find(forms_, form));
    if (byte < 0x80) ascii_.push_back(index_.find(forms_, std::string_view(&raw, 1)));
  }
  whole_ = std::make_unique<std::atomic<Whole>[]>(forms_.size());
}

void BpeModel::cut_before(std::string_view space) {
  if (options_.ignore_merges || options_.byte_level || find_form(space) < 0) return;
  for (std::size_t id = 0; id < forms_.size(); ++id) {
    const std::string_view form = forms_[id];
    for (std::size_t at = form.find(space); at != form.npos; at = form.find(space, at + space.size())) {
      if (at > 0 && !form.substr(0, at).ends_with(space)) return;
    }
  }
  cut_ = space;
}

void BpeModel::encode(std::string_view text, MergeScratch& scratch, std::vector<TokenId>& out) const {
  if (cut_.empty()) return encode_word(text, scratch, out);
  std::size_t begin = 0;
  for (std::size_t at = text.find(cut_); at != text.npos; at = text.find(cut_, at + cut_.size())) {
    if (at == begin || text.substr(begin, at - begin).ends_with(cut_)) continue;
    encode_word(text.substr(begin, at - begin), scratch, out);
    begin = at;
  }
  if (begin < text.size()) encode_word(text.substr(begin), scratch, out);
}

void BpeModel::encode_word(std::string_view word, MergeScratch& scratch, std::vector<TokenId>& out) const {
  // Positions are 32 bits wide: a longer word is cut, between characters.
  while (word.size() > kMaxWordBytes) {
    const std::size_t cut = options_.byte_level ? kMaxWordBytes : previous_start(word, kMaxWordBytes);
    encode_word(word.substr(0, cut), scratch, out);
    word.remove_prefix(cut);
  }
  const TokenId token = word.size() <= longest_ ? find_form(word) : -1;
  auto known = Whole::kNo;
  if (token >= 0) {
    known =
        options_.ignore_merges ? Whole::kYes : whole_[static_cast<std::size_t>(token)].load(std::memory_order_relaxed);
  }
  if (known == Whole::kYes) {
    out.push_back(token);
    return;
  }
  auto& symbols = scratch.symbols;
  symbols.clear();
  if (options_.byte_level) {
    byte_symbols(word, symbols);
  } else {
    character_symbols(word, symbols);
  }
  merge_symbols(merges_, scratch);
  if (known == Whole::kUnknown) {
    const bool whole = symbols.size() == 1 && symbols[0] == token;
    whole_[static_cast<std::size_t>(token)].store(whole ? Whole::kYes : Whole::kNo, std::memory_order_relaxed);
  }
  out.insert(out.end(), symbols.begin(), symbols.end());
}

void BpeModel::byte_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  bool after_unknown = false;
  for (const char c : word) {
    const TokenId token = byte_tokens_[static_cast<unsigned char>(c)];
    if (token >= 0) {
      symbols.push_back(token);
    } else if (options_.unk >= 0 && !(after_unknown && options_.fuse_unk)) {
      symbols.push_back(options_.unk);
    }
    after_unknown = token < 0;
  }
}

bool BpeModel::append_fallback_bytes(std::string_view character, std::vector<TokenId>& symbols) const {
  const auto token_of = [&](char c) { return byte_tokens_[static_cast<unsigned char>(c)]; };
  if (!std::ranges::all_of(character, [&](char c) { return token_of(c) >= 0; })) return false;
  for (const char c : character) symbols.push_back(token_of(c));
  return true;
}

void BpeModel::character_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  // An unknown token waits until the next known character, and byte fallback does not flush it: as Hugging Face orders
  // them.
  bool unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view character = word.substr(at, code_point_at(word, at).size);
    at += character.size();
    const auto lead = static_cast<unsigned char>(character[0]);
    const TokenId token = lead < 0x80 ? ascii_[lead] : find_form(character);
    if (token >= 0) {
      if (unknown) symbols.push_back(options_.unk);
      unknown = false;
      symbols.push_back(token);
    } else if (!options_.byte_fallback || !append_fallback_bytes(character, symbols)) {
      if (unknown && !options_.fuse_unk) symbols.push_back(options_.unk);
      unknown = options_.unk >= 0;
    }
  }
  if (unknown) symbols.push_back(options_.unk);
}

}  // namespace millrace::text
