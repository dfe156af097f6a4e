#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/containers/json_node.h"

namespace simdjson::dom {
class parser;
}

namespace millrace::text {

// What this engine takes from tokenizer_config.json. Unset = absent or null.
struct TokenizerConfig {
  std::optional<std::string> bos_token, eos_token, unk_token, pad_token;
  // The rest is for vocabularies that are no tokenizer.json: beside one, Transformers (5.x) ignores it too.
  std::vector<AddedToken> added;                     // added_tokens_decoder
  std::optional<bool> add_bos_token, add_eos_token;  // around the text
  std::optional<bool> legacy;                        // SentencePiece: a space in front also behind special tokens
};

TokenizerConfig read_tokenizer_config(const JsonNode& file);
// The same from the file's contents, which may be empty. Throws LoadError.
TokenizerConfig parse_tokenizer_config(std::string_view json);
// `json`, named `file` in errors, of at most `limit` bytes. The element lives as long as the parser.
simdjson::dom::element parse_json(simdjson::dom::parser& parser, std::string_view json, std::string_view file,
                                  std::size_t limit);

}  // namespace millrace::text
