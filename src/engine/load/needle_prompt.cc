#include "engine/load/needle_prompt.h"

#include <algorithm>

#include "base/counter_rng.h"

namespace millrace::engine::load {
namespace {

constexpr std::string_view kFiller[] = {"The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.",
                                        "There and back again."};

void add_filler(std::int64_t first, std::int64_t last, std::string& to) {
  for (std::int64_t i = first; i < last; ++i) {
    to += kFiller[static_cast<std::size_t>(i) % std::size(kFiller)];
    to += ' ';
  }
}

}  // namespace

std::string needle_text(std::int64_t sentences, int depth, std::string_view number) {
  const std::int64_t before = (sentences * depth + 50) / 100;
  std::string text =
      "A special number is hidden in the text below. Find it and remember it. I will ask you about it.\n\n";
  add_filler(0, before, text);
  text.append("The special number is ").append(number).append(". Remember it. ");
  text.append(number).append(" is the special number. ");
  add_filler(before, sentences, text);
  return text + "\n\nWhat is the special number?";
}

std::string_view needle_answer_start() { return "The special number is"; }

std::string needle_number(std::uint64_t seed, std::int64_t trial, int depth) {
  const std::uint64_t stream = rng::random_stream(seed, static_cast<std::uint64_t>(trial));
  return std::to_string(10000 + rng::random_bits(stream, static_cast<std::uint64_t>(depth)) % 90000);
}

Result<std::vector<std::int32_t>> needle_prompt(const NeedleEncoder& encode, std::int64_t length, int depth,
                                                std::string_view number) {
  const auto with = [&](std::int64_t sentences) { return encode(needle_text(sentences, depth, number)); };
  std::vector<std::int32_t> prompt = with(0);
  const std::int64_t shortest = std::ssize(prompt), max_tokens = length - kNeedleAnswerTokens;
  if (shortest > max_tokens) {
    return make_error(ErrorCode::kInvalidArgument, "needle-lengths",
                      "needle-lengths has {}: the question and its answer take {} tokens", length,
                      shortest + kNeedleAnswerTokens);
  }
  std::int64_t fits = 0, too_many = max_tokens + 1;  // a sentence takes a token or more
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    std::vector<std::int32_t> longer = with(middle);
    if (std::ssize(longer) > max_tokens) {
      too_many = middle;
    } else {
      fits = middle;
      prompt = std::move(longer);
    }
  }
  return prompt;
}

}  // namespace millrace::engine::load
