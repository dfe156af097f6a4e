#include "text/unigram_model.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/containers/tokenizer_components.h"

// {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.5], ...], "byte_fallback": false}
namespace millrace::text::models {
namespace {

// How much worse an unknown character is than the worst token.
constexpr double kUnknownPenalty = 10;

// The number as Hugging Face reads it: the digits as an integer, rounded, times or through a power of ten, rounded
// again (Rust's serde_json without float_roundtrip). Which of two nearly equal ways is better depends on it.
double as_serde_json_reads(double exact) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), exact, std::chars_format::scientific).ptr;
  std::uint64_t digits = 0;  // at most 17 of them
  int exponent = 0, after_point = 0;
  bool in_fraction = false;
  for (const char* at = text.data(); at != end; ++at) {
    if (*at == 'e') {
      std::from_chars(at + (at[1] == '+' ? 2 : 1), end, exponent);
      break;
    }
    if (*at == '.') in_fraction = true;
    if (*at < '0' || *at > '9') continue;
    digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    if (in_fraction) ++after_point;
  }
  exponent -= after_point;
  if (std::abs(exponent) > 300) return exact;
  double power = 1;  // literals of powers of ten are correctly rounded, products of them are not
  const std::string literal = "1e" + std::to_string(std::abs(exponent));
  std::from_chars(literal.data(), literal.data() + literal.size(), power);
  const double value = exponent < 0 ? static_cast<double>(digits) / power : static_cast<double>(digits) * power;
  return std::signbit(exact) ? -value : value;
}

std::vector<double> read_scores(const JsonNode& vocabulary, std::size_t tokens) {
  std::vector<double> scores;
  scores.reserve(tokens);
  for (const simdjson::dom::element entry : vocabulary.array()) {
    simdjson::dom::array pair;
    double score = 0;
    if (entry.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(1).get(score) != simdjson::SUCCESS) {
      vocabulary.items()[scores.size()].wrong("[spelling, score]");
    }
    scores.push_back(as_serde_json_reads(score));
  }
  return scores;
}

void read_unigram(const JsonNode& node, TokenizerParts& parts) {
  UnigramOptions options;
  options.byte_fallback = node["byte_fallback"].boolean_or(false);
  if (!node["unk_id"].is_null()) options.unk = checked_id(node["unk_id"], parts);
  std::vector<double> scores = read_scores(node["vocab"], parts.texts.size());
  options.unk_score = -kUnknownPenalty + (scores.empty() ? 0 : *std::ranges::min_element(scores));
  if (parts.pre_tokenizer.byte_level) parts.spell_words();
  parts.kind = "Unigram";
  scores.resize(parts.texts.size());  // also for added tokens, which are hidden
  parts.model = std::make_unique<UnigramModel>(options, make_forms(parts.texts, hidden_tokens(parts), false),
                                               std::move(scores), parts.fallback_bytes());
}

}  // namespace

ComponentReader unigram() { return {"Unigram", read_unigram}; }

}  // namespace millrace::text::models
