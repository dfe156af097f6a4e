#pragma once

#include <string>

namespace millrace::text {

// Removes spaces before punctuation and contractions, as Hugging Face's decoders do if their `cleanup` is set.
void clean_up_spaces(std::string& text);

}  // namespace millrace::text
