#pragma once

#include <memory>

#include "text/pre_tokenizer.h"
#include "unicode/category.h"
#include "unicode/code_points.h"

namespace millrace::text {

// The role of a character for a splitter that looks at single characters. Runs of kFirstKind, and of kSecondKind, are
// words.
enum class CharRole { kDropped, kAlone, kFirstKind, kSecondKind };
std::unique_ptr<const WordSplitter> make_class_splitter(CharRole (*role)(char32_t));

// Splits at every character for which `matches` is true, with `behavior`.
std::unique_ptr<const WordSplitter> make_char_splitter(bool (*matches)(char32_t), SplitBehavior behavior);

// Whether it is ASCII punctuation (or symbol), or in a category of punctuation: Hugging Face's is_bert_punc.
bool is_bert_punctuation(char32_t c) noexcept;

}  // namespace millrace::text
