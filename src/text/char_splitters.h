#pragma once

#include <memory>

#include "text/pre_tokenizer.h"
#include "unicode/category.h"
#include "unicode/code_points.h"

namespace millrace::text {

// What a character means to a splitter that looks at one at a time: runs of one kind are words.
enum class CharRole { kDropped, kAlone, kFirstKind, kSecondKind };
std::unique_ptr<const WordSplitter> make_class_splitter(CharRole (*role)(char32_t));

// Every character for which `matches` holds is a match of `behavior`.
std::unique_ptr<const WordSplitter> make_char_splitter(bool (*matches)(char32_t), SplitBehavior behavior);

// ASCII punctuation (symbols too) or a category of punctuation: Hugging Face's is_bert_punc.
bool is_bert_punctuation(char32_t c) noexcept;

}  // namespace millrace::text
