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

// The fields of tokenizer_config.json that this engine uses. Unset = absent or null.
struct TokenizerConfig {
  std::optional<std::string> bos_token, eos_token, unk_token, pad_token;
  // The fields below are for vocabularies other than tokenizer.json: besides one, Transformers (5.x) ignores them too.
  std::vector<AddedToken> added;                     // added_tokens_decoder
  std::optional<bool> add_bos_token, add_eos_token;  // whether they surround a text
  std::optional<bool> legacy;                        // SentencePiece: special tokens are also followed by a space
};

TokenizerConfig read_tokenizer_config(const JsonNode& file);
// Reads the file's contents, which may be empty. Throws LoadError.
TokenizerConfig parse_tokenizer_config(std::string_view json);
// Parses `json` of at most `limit` bytes; `file` names it in errors. The element lives as long as the parser. Throws
// LoadError.
simdjson::dom::element parse_json(simdjson::dom::parser& parser, std::string_view json, std::string_view file,
                                  std::size_t limit);

}  // namespace millrace::text
