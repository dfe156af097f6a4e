#pragma once

#include "text/bpe_tokenizer.h"
#include "text/json_node.h"

namespace millrace::text {

// The components of tokenizer.json, each found by its "type" in a table of small readers. They fill in `parts` or throw
// LoadError: kUnsupported names a type or value that this build does not know.
void read_normalizer(const JsonNode& node, TokenizerParts& parts);
void read_pre_tokenizer(const JsonNode& node, TokenizerParts& parts);
void read_decoder(const JsonNode& node, TokenizerParts& parts);
void read_post_processor(const JsonNode& node, TokenizerParts& parts);

struct ComponentReader {
  std::string_view type;
  void (*read)(const JsonNode& node, TokenizerParts& parts);
};
// Runs the reader of node.type.
void read_component(const JsonNode& node, std::span<const ComponentReader> readers, TokenizerParts& parts);

// A string put in place of others, bounded: text must not grow without limit because a file says so.
std::string short_text(const JsonNode& node);

// Components nest in Sequences; simdjson refuses deeper files.
inline constexpr std::size_t kMaxJsonDepth = 32;

}  // namespace millrace::text
