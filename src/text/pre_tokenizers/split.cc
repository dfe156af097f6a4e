#include "text/containers/tokenizer_components.h"
#include "text/regex/known_expressions.h"

// {"type": "Split", "pattern": {"Regex": ...} or {"String": ...}, "behavior": "Isolated", "invert": false}
namespace millrace::text::pre_tokenizers {
namespace {

void read_split(const JsonNode& node, TokenizerParts& parts) {
  const SplitBehavior behavior = split_behavior(node["behavior"]);
  const bool invert = node["invert"].boolean_or(false);
  const JsonNode literal = node["pattern"]["String"];
  if (!literal.is_null()) {
    if (literal.string().empty()) literal.wrong("a string that is not empty");
    parts.add_step(make_literal_splitter(std::string(literal.string()), behavior, invert));
    return;
  }
  const JsonNode regex = node["pattern"]["Regex"];
  // The known expressions match everything, so that these behaviors give their matches.
  const bool keeps_matches = behavior == SplitBehavior::kIsolated || (behavior == SplitBehavior::kRemoved && invert);
  auto splitter = keeps_matches ? make_known_splitter(regex.string()) : nullptr;
  std::string why;
  if (!splitter) splitter = make_regex_splitter(regex.string(), behavior, invert, why);
  if (!splitter) regex.reject(ErrorCode::kUnsupported, why);
  parts.add_step(std::move(splitter));
}

}  // namespace

ComponentReader split() { return {"Split", read_split}; }

}  // namespace millrace::text::pre_tokenizers
