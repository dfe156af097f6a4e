#include "text/bpe/bpe_model.h"

#include <algorithm>

#include "unicode/code_points.h"

namespace millrace::text {
namespace {}  // namespace

BpeModel::BpeModel(BpeOptions options, StringTable forms, MergeTable merges)
    : options_(std::move(options)), forms_(std::move(forms)), merges_(std::move(merges)), is_fallback_(forms_.size()) {
  index_.reserve(forms_.size());
  for (std::size_t id = 0; id < forms_.size(); ++id) {
    index_.insert(forms_, static_cast<TokenId>(id));
    longest_ = std::max(longest_, forms_[id].size());
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    const TokenId token = index_.find(forms_, std::string_view(&raw, 1));
    if (options_.byte_level) byte_tokens_.push_back(token);
    if (byte < 0x80) ascii_.push_back(token);
  }
  if (!options_.byte_level) byte_tokens_ = options_.fallback_bytes;
  for (const TokenId token : options_.fallback_bytes) {
    if (token >= 0) is_fallback_[static_cast<std::size_t>(token)] = true;
  }
  affixes_ = !options_.continuing_prefix.empty() || !options_.word_suffix.empty();
  if (can_cut_before(options_.cut_before)) cut_ = options_.cut_before;
  StringTable indivisible;
  for (const TokenId id : options_.indivisible) indivisible.push_back(forms_[static_cast<std::size_t>(id)]);
  indivisible_ = ByteTrie(indivisible);
  hidden_merges_ = HiddenMerges(merges_, forms_);
  whole_ = std::make_unique<std::atomic<Whole>[]>(forms_.size());
}

bool BpeModel::can_cut_before(std::string_view space) const {
  if (options_.ignore_merges || options_.byte_level || affixes_ || space.empty() || find_form(space) < 0) return false;
  for (std::size_t id = 0; id < forms_.size(); ++id) {
    const std::string_view form = forms_[id];
    for (std::size_t at = form.find(space); at != form.npos; at = form.find(space, at + space.size())) {
      if (at > 0 && !form.substr(0, at).ends_with(space)) return false;
    }
  }
  return true;
}

void BpeModel::encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
                      std::vector<Word>* spans) const {
  const std::size_t first = out.size();
  std::size_t begin = 0;
  if (!cut_.empty()) {
    for (std::size_t at = word.find(cut_); at != word.npos; at = word.find(cut_, at + cut_.size())) {
      if (at == begin || word.substr(begin, at - begin).ends_with(cut_)) continue;
      encode_word(word.substr(begin, at - begin), scratch, out);
      begin = at;
    }
  }
  if (begin < word.size()) encode_word(word.substr(begin), scratch, out);
  if (spans != nullptr) append_spans(word, std::span(out).subspan(first), *spans);
}

void BpeModel::encode_word(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out) const {
  // Positions are 32 bits wide: a longer word is cut, between characters.
  while (word.size() > kMaxWordBytes) {
    const std::size_t cut = options_.byte_level ? kMaxWordBytes : unicode::previous_start(word, kMaxWordBytes);
    encode_word(word.substr(0, cut), scratch, out);
    word.remove_prefix(cut);
  }
  const TokenId token = word.size() <= longest_ ? find_form(word) : -1;
  auto known = Whole::kNo;
  if (token >= 0 && (!affixes_ || options_.ignore_merges)) {
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
  if (!hidden_merges_.empty()) hidden_merges_.spell(symbols);
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

bool BpeModel::has_fallback_bytes(std::string_view character) const {
  return !options_.fallback_bytes.empty() &&
         std::ranges::all_of(character, [&](char c) { return byte_tokens_[static_cast<unsigned char>(c)] >= 0; });
}

// Bytes of the symbol that begins at `at`: a character or an indivisible token.
std::size_t BpeModel::symbol_size(std::string_view word, std::size_t at) const {
  const std::size_t size = unicode::code_point_at(word, at).size;
  return options_.indivisible.empty() ? size : std::max(size, indivisible_.longest_prefix(word.substr(at)));
}

// The token of the symbol word[at, at + size), spelled with the affixes of its place.
TokenId BpeModel::character_token(std::string_view word, std::size_t at, std::size_t size) const {
  const std::string_view character = word.substr(at, size);
  if (!affixes_) {
    return size == 1 ? ascii_[static_cast<unsigned char>(character[0])] : find_form(character);
  }
  std::string spelled(at > 0 ? options_.continuing_prefix : "");
  spelled.append(character);
  if (at + size == word.size()) spelled += options_.word_suffix;
  return find_form(spelled);
}

void BpeModel::character_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  // An unknown token waits until the next known character, and byte fallback does not flush it: as Hugging Face orders
  // them.
  bool unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t size = symbol_size(word, at);
    const std::string_view character = word.substr(at, size);
    const TokenId token = character_token(word, at, size);
    at += size;
    if (token >= 0) {
      if (unknown) symbols.push_back(options_.unk);
      unknown = false;
      symbols.push_back(token);
    } else if (has_fallback_bytes(character)) {
      for (const char c : character) symbols.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
    } else {
      if (unknown && !options_.fuse_unk) symbols.push_back(options_.unk);
      unknown = options_.unk >= 0;
    }
  }
  if (unknown) symbols.push_back(options_.unk);
}

// How many bytes the unknown token at word[at] stands for.
std::size_t BpeModel::unknown_size(std::string_view word, std::size_t at) const {
  if (options_.byte_level) return 1;
  std::size_t end = at + unicode::code_point_at(word, at).size;
  while (options_.fuse_unk && end < word.size()) {
    const std::size_t size = symbol_size(word, end);
    if (character_token(word, end, size) >= 0 || has_fallback_bytes(word.substr(end, size))) break;
    end += size;
  }
  return end - at;
}

// Whether the text says "<0x0A>" in so many letters; a byte has no token of its own then.
bool BpeModel::is_spelled_out(std::string_view text, TokenId token) const {
  const std::string_view form = forms_[static_cast<std::size_t>(token)];
  return !form.empty() && text.starts_with(form) && ascii_['<'] >= 0;
}

// Tokens lie in the word one after the other.
void BpeModel::append_spans(std::string_view word, std::span<const TokenId> tokens, std::vector<Word>& spans) const {
  std::size_t at = 0;
  for (const TokenId token : tokens) {
    std::size_t size = forms_[static_cast<std::size_t>(token)].size();
    if (token == options_.unk && at < word.size()) {
      size = unknown_size(word, at);
    } else if (is_fallback_[static_cast<std::size_t>(token)] && !is_spelled_out(word.substr(at), token)) {
      size = 1;
    } else if (affixes_) {
      if (at > 0) size -= std::min(size, options_.continuing_prefix.size());
      if (at + size > word.size()) size -= std::min(size, options_.word_suffix.size());
    }
    const std::size_t end = std::min(at + size, word.size());
    spans.push_back({std::min(at, end), end});
    at = end;
  }
}

}  // namespace millrace::text
