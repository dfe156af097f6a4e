#include "text/word_piece_model.h"

#include <algorithm>

namespace millrace::text {
namespace {

bool is_longer_than(std::string_view text, std::size_t characters) {
  if (text.size() <= characters) return false;
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text, begins)) > characters;
}

}  // namespace

WordPieceModel::WordPieceModel(WordPieceOptions options, const StringTable& forms)
    : options_(std::move(options)),
      trie_(forms),
      continuing_(trie_.walk(ByteTrie::kRoot, options_.continuing_prefix)) {}

void WordPieceModel::encode(std::string_view word, ModelScratch&, std::vector<TokenId>& out,
                            std::vector<Word>* spans) const {
  const std::size_t tokens = out.size(), places = spans != nullptr ? spans->size() : 0;
  if (!is_longer_than(word, options_.max_word_characters) && spell(word, out, spans)) return;
  out.resize(tokens);
  if (spans != nullptr) spans->resize(places);
  if (options_.unk < 0) return;
  out.push_back(options_.unk);
  if (spans != nullptr) spans->push_back({0, word.size()});
}

bool WordPieceModel::spell(std::string_view word, std::vector<TokenId>& out, std::vector<Word>* spans) const {
  for (std::size_t begin = 0; begin < word.size();) {
    ByteTrie::Node node = begin == 0 ? ByteTrie::kRoot : continuing_;
    TokenId token = -1;
    std::size_t end = begin;
    for (std::size_t at = begin; node != ByteTrie::kNone && at < word.size();) {
      node = trie_.step(node, word[at++]);
      if (node == ByteTrie::kNone || trie_.token(node) < 0) continue;
      token = trie_.token(node);
      end = at;
    }
    if (token < 0) return false;
    out.push_back(token);
    if (spans != nullptr) spans->push_back({begin, end});
    begin = end;
  }
  return true;
}

}  // namespace millrace::text
