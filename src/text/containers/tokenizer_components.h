#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/containers/json_node.h"
#include "text/tokenizer_parts.h"

namespace millrace::text {

// One component of tokenizer.json: a file of normalizers/, pre_tokenizers/, models/, decoders/ or post_processors/
// gives one. `read` fills in `parts` or throws LoadError; a value that it does not know is kUnsupported and named.
struct ComponentReader {
  std::string_view type;
  void (*read)(const JsonNode& node, TokenizerParts& parts);
};
std::span<const ComponentReader> all_normalizers();  // these five are generated
std::span<const ComponentReader> all_pre_tokenizers();
std::span<const ComponentReader> all_models();
std::span<const ComponentReader> all_decoders();
std::span<const ComponentReader> all_post_processors();

// Read the component that node.type names; null nodes do nothing.
void read_normalizer(const JsonNode& node, TokenizerParts& parts);
void read_pre_tokenizer(const JsonNode& node, TokenizerParts& parts);
void read_decoder(const JsonNode& node, TokenizerParts& parts);
void read_post_processor(const JsonNode& node, TokenizerParts& parts);
// Files of 2019 name no type of model: BPE.
void read_model(const JsonNode& node, TokenizerParts& parts);
// A component that is not in a file but meant by a name: the same, from JSON text of our own.
void read_own_normalizer(std::string_view json, TokenizerParts& parts);
void read_own_pre_tokenizer(std::string_view json, TokenizerParts& parts);
void read_own_decoder(std::string_view json, TokenizerParts& parts);

// A string put in place of others, bounded: text must not grow without limit because a file says so.
std::string short_text(const JsonNode& node);
// {"pattern": {"String": ...}}, not empty.
std::string literal_pattern(const JsonNode& node);
SplitBehavior split_behavior(const JsonNode& node);
// Metaspace's: "always", "first" or "never"; older files say add_prefix_space.
std::string_view metaspace_scheme(const JsonNode& node);
// The id of a token named in a file, which must be one of the vocabulary.
TokenId named_token(const JsonNode& name, const TokenizerParts& parts);
TokenId checked_id(const JsonNode& id, const TokenizerParts& parts);

// Components nest in Sequences; simdjson refuses deeper files.
inline constexpr std::size_t kMaxJsonDepth = 32;

}  // namespace millrace::text
