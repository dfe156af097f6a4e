#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::text {

// Translates a regular expression of tokenizer.json, written for Oniguruma, to one for PCRE2 (with UTF and UCP) with
// the same matches: nested classes and && are evaluated, properties have the code points of Oniguruma's Unicode
// version, and \s, \w and \h are its sets. Nothing, with the reason in `why`, if that is not possible.
std::optional<std::string> translate_regex(std::string_view regex, std::string& why);

}  // namespace millrace::text
