#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace millrace::grammar::json_schema {

// A reference resolved against the address of its document (RFC 3986, section 5.2); both without fragments.
std::string resolve_uri(std::string_view base, std::string_view reference);
// The parts before and after the first '#'.
std::pair<std::string_view, std::string_view> split_fragment(std::string_view uri);
std::string percent_decoded(std::string_view text);

}  // namespace millrace::grammar::json_schema
