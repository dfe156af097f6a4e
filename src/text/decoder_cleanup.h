#pragma once

#include <string>

namespace millrace::text {

// Takes away the spaces that English does not have before punctuation and contractions, as Hugging Face's decoders do
// where their `cleanup` is set.
void clean_up_spaces(std::string& text);

}  // namespace millrace::text
