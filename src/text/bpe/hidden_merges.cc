#include "text/bpe/hidden_merges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/tokenizer_parts.h"
#include "text/word_model.h"

namespace millrace::text {
namespace {

using Sides = std::unordered_map<TokenId, std::pair<TokenId, TokenId>>;

// The symbols that a token is merged from; nothing where there is no end of them, as a file of contradictions has it.
std::optional<std::vector<TokenId>> symbols_of(TokenId token, const Sides& sides) {
  std::vector<TokenId> out, open = {token};
  for (std::size_t steps = 0; !open.empty(); ++steps) {
    if (steps > 2 * kMaxAddedTokenBytes) return std::nullopt;
    const TokenId next = open.back();
    open.pop_back();
    if (const auto merge = sides.find(next); merge != sides.end()) {
      open.push_back(merge->second.second);
      open.push_back(merge->second.first);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

}  // namespace

HiddenMerges::HiddenMerges(const MergeTable& merges, const StringTable& forms) {
  const auto is_hidden = [&](TokenId id) { return forms[static_cast<std::size_t>(id)].empty(); };
  std::vector<TokenId> hidden;
  merges.for_each([&](TokenId, TokenId, MergeTable::Merge merge) {
    if (is_hidden(merge.result)) hidden.push_back(merge.result);
  });
  if (hidden.empty()) return;
  std::ranges::sort(hidden);
  hidden.erase(std::ranges::unique(hidden).begin(), hidden.end());
  Sides sides;
  MergeTable others;
  merges.for_each([&](TokenId left, TokenId right, MergeTable::Merge merge) {
    sides.emplace(merge.result, std::pair(left, right));
    if (!is_hidden(merge.result)) others.insert(left, right, merge);
  });
  ModelScratch scratch;
  for (const TokenId id : hidden) {
    auto symbols = symbols_of(id, sides);
    if (!symbols || std::ranges::any_of(*symbols, is_hidden)) continue;  // no text leads to it
    scratch.symbols = *std::move(symbols);
    merge_symbols(others, scratch);
    spellings_.emplace(id, scratch.symbols);
  }
}

void HiddenMerges::spell(std::vector<TokenId>& symbols) const {
  const auto is_hidden = [&](TokenId id) { return spellings_.contains(id); };
  if (std::ranges::none_of(symbols, is_hidden)) return;
  std::vector<TokenId> out;
  for (const TokenId id : symbols) {
    const auto spelling = spellings_.find(id);
    if (spelling == spellings_.end()) {
      out.push_back(id);
    } else {
      out.insert(out.end(), spelling->second.begin(), spelling->second.end());
    }
  }
  symbols = std::move(out);
}

}  // namespace millrace::text
