#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::hub {

// An http or https address.
struct Url {
  std::string text;    // complete, as sent
  std::string origin;  // "https://host:443": scheme, host in lower case, port
  std::string shown;   // for messages: without user and query (URLs of content networks carry signatures there)
  bool secure = false;
};

Result<Url> parse_url(const std::string& text);
// The target of a Location header relative to `base`.
Result<Url> resolve_url(const Url& base, const std::string& location);

// Percent-encodes all but unreserved characters, and optionally slashes.
enum class Slashes { kKeep, kEncode };
std::string percent_encode(std::string_view text, Slashes slashes);

}  // namespace millrace::hub
