#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Prompts of the needle in a haystack: one sentence with a number, hidden in filler text that has nothing to do with it
// (passkey retrieval, Mohtashami and Jaggi, arXiv:2305.16300).

namespace millrace::engine::load {

// The text that a model gets: what it shall do, `sentences` of filler with the needle behind the first `depth` percent
// of them (0 to 100), and the question.
std::string needle_text(std::int64_t sentences, int depth, std::string_view number);
// How the answer to that text begins; the number is what follows.
std::string_view needle_answer_start();
// A number of five digits; the same arguments give the same one.
std::string needle_number(std::uint64_t seed, std::int64_t trial, int depth);

// The tokens of a prompt that asks for the answer to a text, with the beginning of the answer.
using NeedleEncoder = std::function<std::vector<std::int32_t>(const std::string& text)>;

inline constexpr std::int64_t kNeedleAnswerTokens = 16;  // in which the number must stand

// The prompt with the most filler that leaves room for the answer in a context of `length` tokens. kInvalidArgument
// naming needle-lengths if there is no room for the question without any.
Result<std::vector<std::int32_t>> needle_prompt(const NeedleEncoder& encode, std::int64_t length, int depth,
                                                std::string_view number);

}  // namespace millrace::engine::load
