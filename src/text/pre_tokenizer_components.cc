#include "text/tokenizer_components.h"

namespace millrace::text {
namespace {

// Words of a byte-level vocabulary are spelled anew there, so what came after ByteLevel would see other characters.
void check_not_after_byte_level(const JsonNode& node, const TokenizerParts& parts) {
  if (parts.pre_tokenizer.byte_level) node["type"].unsupported(node["type"].string(), "nothing after ByteLevel");
}

// What rewrites spaces must see the text before it is cut.
void check_first(const JsonNode& node, const TokenizerParts& parts) {
  if (!parts.pre_tokenizer.splitters.empty() || parts.pre_tokenizer.rewrites()) {
    node["type"].unsupported(node["type"].string(), "a component that adds or replaces spaces only as the first one");
  }
}

void byte_level(const JsonNode& node, TokenizerParts& parts) {
  check_not_after_byte_level(node, parts);
  PreTokenizer& pre = parts.pre_tokenizer;
  if (node["add_prefix_space"].boolean_or(true)) {
    check_first(node, parts);
    pre.prefix.assign(1, ' ');
    pre.prepend = PreTokenizer::Prepend::kAlways;
  }
  if (node["use_regex"].boolean_or(true)) pre.splitters.push_back(make_known_splitter(kGpt2Regex));
  pre.byte_level = true;
}

void digits(const JsonNode& node, TokenizerParts& parts) {
  check_not_after_byte_level(node, parts);
  parts.pre_tokenizer.splitters.push_back(make_digit_splitter(node["individual_digits"].boolean_or(false)));
}

void metaspace(const JsonNode& node, TokenizerParts& parts) {
  check_first(node, parts);
  PreTokenizer& pre = parts.pre_tokenizer;
  pre.space = short_text(node["replacement"]);
  pre.prefix = short_text(node["replacement"]);
  if (pre.space.empty()) node["replacement"].wrong("one character");
  const bool legacy_prefix = node["add_prefix_space"].boolean_or(true);
  const std::string_view scheme = node["prepend_scheme"].string_or(legacy_prefix ? "always" : "never");
  if (scheme == "always") {
    pre.prepend = PreTokenizer::Prepend::kAlways;
  } else if (scheme == "first") {
    pre.prepend = PreTokenizer::Prepend::kFirst;
  } else if (scheme != "never") {
    node["prepend_scheme"].unsupported(scheme, "always, first, never");
  }
  if (node["split"].boolean_or(true)) {
    pre.splitters.push_back(make_literal_splitter(pre.space, SplitBehavior::kMergedWithNext, false));
  }
}

SplitBehavior behavior_of(const JsonNode& node) {
  constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  for (const auto& [name, behavior] : kBehaviors) {
    if (name == node.string()) return behavior;
  }
  node.unsupported(node.string(), "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

void split(const JsonNode& node, TokenizerParts& parts) {
  check_not_after_byte_level(node, parts);
  const SplitBehavior behavior = behavior_of(node["behavior"]);
  const bool invert = node["invert"].boolean_or(false);
  auto& splitters = parts.pre_tokenizer.splitters;
  const JsonNode literal = node["pattern"]["String"];
  if (!literal.is_null()) {
    if (literal.string().empty()) literal.wrong("a string that is not empty");
    splitters.push_back(make_literal_splitter(std::string(literal.string()), behavior, invert));
    return;
  }
  const JsonNode regex = node["pattern"]["Regex"];
  // The known expressions match everything, so that these two behaviors give their matches.
  const bool keeps_matches = behavior == SplitBehavior::kIsolated || (behavior == SplitBehavior::kRemoved && invert);
  auto splitter = keeps_matches ? make_known_splitter(regex.string()) : nullptr;
  std::string why;
  if (!splitter) splitter = make_regex_splitter(regex.string(), behavior, invert, why);
  if (!splitter) throw_load_error(ErrorCode::kUnsupported, regex.path(), "{}: {}", regex.path(), why);
  splitters.push_back(std::move(splitter));
}

void sequence(const JsonNode& node, TokenizerParts& parts) {
  for (const JsonNode& item : node["pretokenizers"].items()) read_pre_tokenizer(item, parts);
}

constexpr ComponentReader kPreTokenizers[] = {
    {"ByteLevel", byte_level}, {"Digits", digits}, {"Metaspace", metaspace}, {"Split", split}, {"Sequence", sequence}};

}  // namespace

void read_pre_tokenizer(const JsonNode& node, TokenizerParts& parts) {
  if (!node.is_null()) read_component(node, kPreTokenizers, parts);
}

}  // namespace millrace::text
