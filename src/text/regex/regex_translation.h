#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::text {

// A regular expression of tokenizer.json, written for Oniguruma, as one for PCRE2 (with UTF and UCP) that matches the
// same: classes within classes and && are worked out, properties have the code points that Oniguruma's Unicode knows,
// \s, \w and \h mean its sets. None, and the reason in `why`, when that cannot be done.
std::optional<std::string> translate_regex(std::string_view regex, std::string& why);

}  // namespace millrace::text
