#pragma once

#include <string_view>

#include "http/limits.h"

namespace millrace::http {

struct HeadProblem {
  int status = 0;  // 0: none
  std::string_view what;
};

// Rejects heads that HTTP parsers interpret differently, so that no proxy in front sees another request than this
// server: bare line feeds, folded lines, space before a colon, both or several lengths, transfer codings other than
// chunked, chunks in HTTP/1.0, targets that are not a path, and a Host that is missing, repeated or invalid (RFC 9112
// §2.2, §3.2, §5, §6.1, §11.2). `head` ends with the empty line.
HeadProblem check_head(std::string_view head, const Limits& limits);

// Whether it is a valid value of Host: a name, an IPv4 address or "[IPv6]", with or without ":port" (RFC 3986 §3.2.2,
// §3.2.3); no userinfo.
bool is_authority(std::string_view host);

}  // namespace millrace::http
