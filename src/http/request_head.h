#pragma once

#include <string_view>

#include "http/limits.h"

namespace millrace::http {

struct SpeculatorProblem {
  int status = 0;  // 0: none
  std::string_view what;
};

// What a strict server refuses though parsers differ about it, so that no proxy before us sees another request than we
// do: bare line feeds, folded lines, space before a colon, both or several lengths, transfer codings other than
// chunked, chunks in HTTP/1.0, targets that are not a path, no or several hosts, or one that is none (RFC 9112 §2.2,
// §3.2, §5, §6.1, §11.2). `head` ends with the empty line.
SpeculatorProblem check_head(std::string_view head, const Limits& limits);

// A value of Host: a name, an IPv4 address or "[IPv6]", with or without ":port" (RFC 3986 §3.2.2, §3.2.3); no userinfo.
bool is_authority(std::string_view host);

}  // namespace millrace::http
