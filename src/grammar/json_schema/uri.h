#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace millrace::grammar::json_schema {

// A reference resolved against the address of the document it stands in, as RFC 3986 section 5.2 has it; both without
// fragments.
std::string resolve_uri(std::string_view base, std::string_view reference);
// What stands before the first '#', and after it.
std::pair<std::string_view, std::string_view> split_fragment(std::string_view uri);
std::string percent_decoded(std::string_view text);

}  // namespace millrace::grammar::json_schema
