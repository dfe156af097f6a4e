// DRY against the plain way to say the same, and the strings that break repetitions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "decode/processor.h"
#include "decode/sequence_breakers.h"

namespace millrace::decode {
namespace {

using Tokens = std::vector<std::int32_t>;

// All positions, all lengths, one by one; llama.cpp's rule without the Z-function.
std::map<std::int32_t, double> dry_penalties(const Tokens& text, const SamplingParams& params, std::size_t limit) {
  const std::size_t n = params.dry_penalty_last_n < 0
                            ? text.size()
                            : std::min(text.size(), static_cast<std::size_t>(params.dry_penalty_last_n));
  const Tokens window(text.end() - static_cast<std::ptrdiff_t>(n), text.end());
  std::map<std::int32_t, double> out;
  for (std::size_t next = 1; next < n; ++next) {  // behind an earlier place that ends as the text does
    std::size_t length = 0;
    while (length < next && window[next - 1 - length] == window[n - 1 - length]) ++length;
    length = std::min(length, limit);
    if (static_cast<std::int64_t>(length) < params.dry_allowed_length) continue;
    const double penalty =
        params.dry_multiplier *
        std::pow(params.dry_base, static_cast<double>(length) - static_cast<double>(params.dry_allowed_length));
    out[window[next]] = std::max(out[window[next]], penalty);
  }
  return out;
}

TEST(Dry, PenalisesWhatWouldLengthenARepetition) {
  std::mt19937 random(11);
  const SequenceBreakers::Vocabulary letters{
      .size = 6,
      .bytes = [](std::int32_t token) { return std::string(1, static_cast<char>('a' + token)); },
      .encode =
          [](const std::string& text) {
            Tokens out;
            for (const char c : text) out.push_back(c - 'a');
            return out;
          }};
  const std::vector<std::string> strings = {"f", "edc"};
  const auto breakers = std::make_shared<const SequenceBreakers>(strings, letters);
  int penalised = 0;
  for (int round = 0; round < 3000; ++round) {
    SamplingParams params;
    params.dry_multiplier = 0.5;
    params.dry_base = 1.3;
    params.dry_allowed_length = 1 + round % 3;
    params.dry_penalty_last_n = round % 4 == 0 ? 12 : -1;
    if (round % 2 == 0) params.dry_sequence_breakers = breakers;
    Tokens text;
    const int alphabet = 2 + round % 5;
    for (int i = 0; i < round % 40; ++i) text.push_back(static_cast<std::int32_t>(random() % alphabet));
    History history({.tokens = true}, 6);
    history.observe(std::span(text).first(text.size() / 2));
    for (std::size_t i = text.size() / 2; i < text.size(); ++i) history.accept(text[i]);

    std::string said;
    for (const std::int32_t token : text) said += static_cast<char>('a' + token);
    std::size_t limit = text.size();
    if (round % 2 == 0) {
      if (params.dry_penalty_last_n > 0 && said.size() > 12) said = said.substr(said.size() - 12);
      limit = said.size();
      for (const std::string& s : strings) {
        if (const std::size_t at = said.rfind(s); at != std::string::npos) {
          limit = std::min(limit, said.size() - at - s.size());
        }
      }
    }
    auto expected = dry_penalties(text, params, limit);
    if (round % 2 == 0) expected.erase(5);
    Candidates candidates;
    for (std::int32_t token = 0; token < 6; ++token) candidates.push_back({token, 0.0f});
    find_processor("dry")->apply({.params = params, .history = history}, candidates);
    for (const Candidate& c : candidates) {
      const double penalty = expected.contains(c.token) ? expected[c.token] : 0.0;
      ASSERT_NEAR(c.logit, -penalty, 1e-5 * (1.0 + penalty)) << said << " " << c.token << " " << round;
      penalised += penalty > 0.0;
    }
  }
  EXPECT_GT(penalised, 1000);
}

TEST(SequenceBreakers, ATokenThatBeginsOneBreaksWithWhatFollows) {
  const std::vector<std::string> pieces = {"a", "x\n", "\n", "end", "en", "d", "send"};
  const SequenceBreakers::Vocabulary vocabulary{
      .size = 7,
      .bytes = [&](std::int32_t token) { return pieces[static_cast<std::size_t>(token)]; },
      .encode = [](const std::string& text) { return text == "d" ? Tokens{5} : Tokens{}; }};
  const std::vector<std::string> strings = {"\n", "end"};
  const SequenceBreakers breakers(strings, vocabulary);
  EXPECT_TRUE(breakers.breaks_alone(1) && breakers.breaks_alone(2) && breakers.breaks_alone(3));
  EXPECT_TRUE(breakers.breaks_alone(6));
  EXPECT_FALSE(breakers.breaks_alone(0) || breakers.breaks_alone(4) || breakers.breaks_alone(5));
  EXPECT_EQ(breakers.since_last(Tokens{0, 0, 5, 4, 0}), 2);  // "en" "d", read backwards
  EXPECT_EQ(breakers.since_last(Tokens{0, 0, 4, 5, 0}), 5);
  EXPECT_EQ(breakers.since_last(Tokens{4}), 1);
  EXPECT_EQ(breakers.since_last(Tokens{0, 1, 5, 4}), 1);
  EXPECT_EQ(breakers.since_last(Tokens{}), 0);
}

}  // namespace
}  // namespace millrace::decode
