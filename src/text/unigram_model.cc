#include "text/unigram_model.h"

#include <algorithm>

#include "unicode/code_points.h"

namespace millrace::text {
namespace {

using Arithmetic = UnigramOptions::Arithmetic;

void emit(TokenId token, Word place, std::vector<TokenId>& out, std::vector<Word>* spans) {
  out.push_back(token);
  if (spans != nullptr) spans->push_back(place);
}

}  // namespace

UnigramModel::UnigramModel(UnigramOptions options, const StringTable& forms, std::vector<double> scores,
                           std::vector<TokenId> byte_tokens)
    : options_(options), trie_(forms), scores_(std::move(scores)), byte_tokens_(std::move(byte_tokens)) {}

void UnigramModel::encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
                          std::vector<Word>* spans) const {
  for (std::size_t cut = 0; cut < word.size();) {
    std::size_t end = word.size();
    if (end - cut > kMaxWordBytes) end = unicode::previous_start(word, cut + kMaxWordBytes);
    const std::string_view part = word.substr(cut, end - cut);
    find_arrivals(part, scratch);
    trace_back(part, scratch);
    // A run of unknown characters is one.
    std::size_t begin = 0, unknown_from = SIZE_MAX;
    for (std::size_t i = scratch.symbols.size(); i-- > 0;) {
      const TokenId token = scratch.symbols[i];
      const auto at = static_cast<std::size_t>(scratch.next[i]);
      if (token == options_.unk) {
        if (unknown_from == SIZE_MAX) unknown_from = begin;
      } else {
        if (unknown_from != SIZE_MAX) append_unknown(word, {cut + unknown_from, cut + begin}, out, spans);
        unknown_from = SIZE_MAX;
        emit(token, {cut + begin, cut + at}, out, spans);
      }
      begin = at;
    }
    if (unknown_from != SIZE_MAX) append_unknown(word, {cut + unknown_from, end}, out, spans);
    cut = end;
  }
}

// scratch.arrivals[i]: the best way to the position i.
void UnigramModel::find_arrivals(std::string_view word, ModelScratch& scratch) const {
  const bool rounds = options_.arithmetic == Arithmetic::kSentencePiece;
  auto& arrivals = scratch.arrivals;
  arrivals.assign(word.size() + 1, {0, -1, -1});
  const auto improve = [&](std::size_t end, double score, std::size_t from, TokenId token) {
    ModelScratch::Arrival& arrival = arrivals[end];
    if (rounds) score = static_cast<double>(static_cast<float>(score));
    if (arrival.from < 0 || score > arrival.score) arrival = {score, static_cast<std::int32_t>(from), token};
  };
  for (std::size_t at = 0; at < word.size();) {
    const double score_here = arrivals[at].score;
    const std::size_t size = unicode::code_point_at(word, at).size;
    bool is_known = false;  // this character alone
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::size_t end = at; end < word.size();) {
      node = trie_.step(node, word[end++]);
      if (node == ByteTrie::kNone) break;
      const TokenId token = trie_.token(node);
      if (token < 0) continue;
      is_known = is_known || end == at + size;
      improve(end, score_here + scores_[static_cast<std::size_t>(token)], at, token);
    }
    if (!is_known) improve(at + size, score_here + options_.unk_score, at, options_.unk);
    at += size;
  }
}

// The tokens of the best way to the end into scratch.symbols, where each ends into scratch.next, last token first.
void UnigramModel::trace_back(std::string_view word, ModelScratch& scratch) const {
  scratch.symbols.clear();
  scratch.next.clear();
  for (std::size_t end = word.size(); end > 0;) {
    const ModelScratch::Arrival& arrival = scratch.arrivals[end];
    scratch.symbols.push_back(arrival.token);
    scratch.next.push_back(static_cast<std::int32_t>(end));
    end = static_cast<std::size_t>(arrival.from);
  }
}

void UnigramModel::append_unknown(std::string_view word, Word place, std::vector<TokenId>& out,
                                  std::vector<Word>* spans) const {
  const std::string_view text = word.substr(place.begin, place.end - place.begin);
  if (options_.arithmetic == Arithmetic::kTokenizers) {
    if (const TokenId token = trie_.find(text); token >= 0) return emit(token, place, out, spans);
    if (append_bytes(text, place, out, spans)) return;
  } else if (options_.byte_fallback) {
    for (std::size_t at = place.begin; at < place.end;) {
      const std::size_t size = unicode::code_point_at(word, at).size;
      append_bytes(word.substr(at, size), {at, at + size}, out, spans);
      at += size;
    }
    return;
  }
  if (options_.unk >= 0) emit(options_.unk, place, out, spans);
}

// False, and nothing, when a byte has no token.
bool UnigramModel::append_bytes(std::string_view bytes, Word place, std::vector<TokenId>& out,
                                std::vector<Word>* spans) const {
  const auto token_of = [&](char c) { return byte_tokens_[static_cast<unsigned char>(c)]; };
  if (!options_.byte_fallback || !std::ranges::all_of(bytes, [&](char c) { return token_of(c) >= 0; })) return false;
  for (const char c : bytes) emit(token_of(c), place, out, spans);
  return true;
}

}  // namespace millrace::text
