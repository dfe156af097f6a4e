#include "text/bpe/byte_alphabet.h"
#include "text/containers/tokenizer_components.h"
#include "text/joined_bytes_decoder.h"

// {"type": "ByteLevel"}: spellings in GPT-2's byte alphabet become bytes, all of them one text. A token with a
// character that is not in the alphabet stands for its own UTF-8.
namespace millrace::text::decoders {
namespace {

void spelled_bytes(std::string& token) {
  if (auto bytes = bytes_of_spelling(token)) token = *std::move(bytes);
}

}  // namespace

ComponentReader byte_level() {
  return {"ByteLevel",
          [](const JsonNode&, TokenizerParts& parts) { parts.add_decoder(joined_bytes_decoder(spelled_bytes)); }};
}

}  // namespace millrace::text::decoders
