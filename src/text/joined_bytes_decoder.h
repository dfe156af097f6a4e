#pragma once

#include <memory>
#include <string>

#include "text/decoder.h"

namespace millrace::text {

// A decoder of tokens that are bytes, all of them one text: what is no UTF-8 becomes U+FFFD, and a character whose
// bytes are of several tokens waits for the last of them. `token_bytes` turns a token's text into its bytes.
std::unique_ptr<Decoder> joined_bytes_decoder(void (*token_bytes)(std::string& token));

}  // namespace millrace::text
