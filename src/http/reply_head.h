#pragma once

#include <string>

#include "http/message.h"

namespace millrace::http {

// The status line and header fields of a reply, with the empty line after them. `http10`: the client uses HTTP/1.0,
// which has no chunks, so a stream ends with the connection. `stays`: the connection may be used again.
std::string reply_head(const Reply& reply, bool http10, bool stays);

}  // namespace millrace::http
