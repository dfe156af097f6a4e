#include <simdjson.h>

#include "text/bpe/bpe_model.h"
#include "text/bpe/named_merges.h"
#include "text/containers/tokenizer_components.h"

// {"type": "BPE", "vocab": {"a": 0, ...}, "merges": ["a b" or ["a", "b"], ...], ...}
namespace millrace::text::models {
namespace {

constexpr std::size_t kMaxAffixBytes = 64;

std::string affix(const JsonNode& node) {
  const std::string_view text = node.string_or("");
  if (text.size() > kMaxAffixBytes) node.wrong("a string of at most 64 bytes");
  return std::string(text);
}

BpeOptions read_options(const JsonNode& node, const TokenizerParts& parts) {
  const JsonNode dropout = node["dropout"];
  if (!dropout.is_null() && dropout.number() != 0) dropout.unsupported("a number", "null: encoding must not be random");
  BpeOptions out;
  out.byte_level = parts.pre_tokenizer.byte_level;
  if (node["byte_fallback"].boolean_or(false)) out.fallback_bytes = parts.fallback_bytes();
  out.fuse_unk = node["fuse_unk"].boolean_or(false);
  out.ignore_merges = node["ignore_merges"].boolean_or(false);
  out.continuing_prefix = affix(node["continuing_subword_prefix"]);
  out.word_suffix = affix(node["end_of_word_suffix"]);
  if (!node["unk_token"].string_or("").empty()) out.unk = named_token(node["unk_token"], parts);
  out.cut_before = kSpaceSymbol;
  // Affixes are characters, so that words must be spelled.
  if (!out.continuing_prefix.empty() || !out.word_suffix.empty()) out.byte_level = false;
  return out;
}

using Sides = std::pair<std::string_view, std::string_view>;

// "left right" or ["left", "right"].
Sides merge_sides(const JsonNode& merges, std::size_t rank, simdjson::dom::element merge) {
  std::string_view text, left, right;
  if (merge.get(text) == simdjson::SUCCESS) {
    const std::size_t space = text.find(' ');
    left = text.substr(0, space);
    if (space != text.npos) right = text.substr(space + 1);
    if (right.find(' ') != right.npos) right = {};
  } else if (simdjson::dom::array pair; merge.get(pair) == simdjson::SUCCESS && pair.size() == 2) {
    if (pair.at(0).get(left) || pair.at(1).get(right)) left = right = {};
  }
  if (!left.empty() && !right.empty()) return {left, right};
  merges.items()[rank].wrong("\"left right\" or [left, right]");
}

MergeTable read_merges(const JsonNode& node, const std::string& continuing_prefix, const TokenizerParts& parts) {
  const simdjson::dom::array array = node.array();
  NamedMerges merges(parts, node.where() + "/", "", array.size());
  for (const simdjson::dom::element merge : array) {
    const auto [left, right] = merge_sides(node, merges.size(), merge);
    merges.add(left, right, continuing_prefix);
  }
  return merges.take();
}

void read_bpe(const JsonNode& node, TokenizerParts& parts) {
  BpeOptions options = read_options(node, parts);
  if (parts.pre_tokenizer.byte_level && !options.byte_level) parts.spell_words();
  parts.kind = parts.spells_bytes ? "byte-level BPE" : !options.fallback_bytes.empty() ? "SentencePiece BPE" : "BPE";
  const Affixes affixes{options.continuing_prefix, options.word_suffix};
  StringTable forms = make_forms(parts.texts, hidden_tokens(parts, affixes), options.byte_level);
  MergeTable merges = read_merges(node["merges"], options.continuing_prefix, parts);
  parts.model = std::make_unique<BpeModel>(std::move(options), std::move(forms), std::move(merges));
}

}  // namespace

ComponentReader bpe() { return {"BPE", read_bpe}; }

}  // namespace millrace::text::models
