#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace millrace::simulator {

inline constexpr std::int64_t kLetters = 61;     // vocabulary of the fake model
inline constexpr std::int32_t kEndOfAnswer = 0;  // the token that ends an answer

// Each token is a letter or a digit, with a space between two: enough to see text end where it should.
std::shared_ptr<const text::Tokenizer> letter_tokenizer();
char letter_of(std::int32_t token) noexcept;

}  // namespace millrace::simulator
