#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace millrace::simulator {

inline constexpr std::int64_t kLetters = 61;     // vocabulary of the fake model
inline constexpr std::int32_t kEndOfAnswer = 0;  // the token that ends an answer

// The fake model's tokenizer: each token is a letter or digit with a space before the next one, so that a wrong end of
// a text is visible.
std::shared_ptr<const text::Tokenizer> letter_tokenizer();
char letter_of(std::int32_t token) noexcept;

}  // namespace millrace::simulator
