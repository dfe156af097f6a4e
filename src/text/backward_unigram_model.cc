#include "text/backward_unigram_model.h"

#include "unicode/code_points.h"

namespace millrace::text {

BackwardUnigramModel::BackwardUnigramModel(const StringTable& forms, std::vector<std::int64_t> costs,
                                           std::vector<TokenId> byte_tokens)
    : trie_(forms), costs_(std::move(costs)), byte_tokens_(std::move(byte_tokens)) {}

void BackwardUnigramModel::encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
                                  std::vector<Word>* spans) const {
  for (std::size_t cut = 0; cut < word.size();) {
    std::size_t end = word.size();
    if (end - cut > kMaxWordBytes) end = unicode::previous_start(word, cut + kMaxWordBytes);
    const std::string_view part = word.substr(cut, end - cut);
    find_ways(part, scratch);
    const auto emit = [&](TokenId token, std::size_t from, std::size_t to) {
      out.push_back(token);
      if (spans != nullptr) spans->push_back({cut + from, cut + to});
    };
    for (std::size_t at = 0; at < part.size();) {
      const auto next = static_cast<std::size_t>(scratch.next[at]);
      if (scratch.symbols[at] >= 0) {
        emit(scratch.symbols[at], at, next);
      } else {
        for (const char byte : part.substr(at, next - at)) {
          emit(byte_tokens_[static_cast<unsigned char>(byte)], at, next);
        }
      }
      at = next;
    }
    cut = end;
  }
}

// For the beginning of each character: scratch.costs of the best way from there to the end, scratch.symbols its first
// token, -1 for the bytes of a character, and scratch.next where that ends.
void BackwardUnigramModel::find_ways(std::string_view part, ModelScratch& scratch) const {
  scratch.costs.assign(part.size() + 1, 0);
  scratch.symbols.assign(part.size(), -1);
  scratch.next.assign(part.size(), 0);
  for (std::size_t end = part.size(); end > 0;) {
    const std::size_t at = unicode::previous_start(part, end);
    std::int64_t best = scratch.costs[end] + kCostOfBytes;
    std::size_t next = end;
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::size_t to = at; to < part.size();) {
      node = trie_.step(node, part[to++]);
      if (node == ByteTrie::kNone) break;
      const TokenId token = trie_.token(node);
      if (token < 0) continue;
      const std::int64_t cost = scratch.costs[to] + costs_[static_cast<std::size_t>(token)];
      if (cost > best) continue;  // of equal ones the longest, and bytes last
      best = cost;
      next = to;
      scratch.symbols[at] = token;
    }
    scratch.costs[at] = best;
    scratch.next[at] = static_cast<std::int32_t>(next);
    end = at;
  }
}

}  // namespace millrace::text
