#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace millrace::simulator {

inline constexpr std::int64_t kLetters = 61;     // vocabulary of the fake model
inline constexpr std::int32_t kEndOfAnswer = 0;  // the token that ends an answer

// A tokenizer for the fake model that can only decode: each token is a letter or a digit, with a space between two.
// kEndOfAnswer is special and not shown. This suffices to see whether text ends where it should. Shared and immutable.
std::shared_ptr<const text::Tokenizer> letter_tokenizer();
// The character of a token in [0, kLetters).
char letter_of(std::int32_t token) noexcept;

}  // namespace millrace::simulator
