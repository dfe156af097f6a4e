#include "text/containers/tokenizer_components.h"

#include <simdjson.h>

namespace millrace::text {
namespace {

void read_component(const JsonNode& node, std::string_view name, std::span<const ComponentReader> readers,
                    TokenizerParts& parts) {
  std::string known;
  for (const ComponentReader& reader : readers) {
    if (reader.type == name) return reader.read(node, parts);
    known += (known.empty() ? "" : ", ") + std::string(reader.type);
  }
  node["type"].unsupported(name, known);
}

template <typename Read>
void read_own(std::string_view json, Read read, TokenizerParts& parts) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  simdjson::dom::element element;
  if (parser.parse(padded).get(element) != simdjson::SUCCESS) {
    throw_load_error(ErrorCode::kInternal, "tokenizer", "a built-in component is not JSON: {}", json);
  }
  read(JsonNode(element, "built-in"), parts);
}

}  // namespace

void read_normalizer(const JsonNode& node, TokenizerParts& parts) {
  if (!node.is_null()) read_component(node, node["type"].string(), all_normalizers(), parts);
}

void read_pre_tokenizer(const JsonNode& node, TokenizerParts& parts) {
  if (!node.is_null()) read_component(node, node["type"].string(), all_pre_tokenizers(), parts);
}

void read_decoder(const JsonNode& node, TokenizerParts& parts) {
  if (!node.is_null()) read_component(node, node["type"].string(), all_decoders(), parts);
}

void read_post_processor(const JsonNode& node, TokenizerParts& parts) {
  if (!node.is_null()) read_component(node, node["type"].string(), all_post_processors(), parts);
}

void read_model(const JsonNode& node, TokenizerParts& parts) {
  read_component(node, node["type"].string_or("BPE"), all_models(), parts);
}

void read_own_normalizer(std::string_view json, TokenizerParts& parts) { read_own(json, read_normalizer, parts); }
void read_own_pre_tokenizer(std::string_view json, TokenizerParts& parts) { read_own(json, read_pre_tokenizer, parts); }
void read_own_decoder(std::string_view json, TokenizerParts& parts) { read_own(json, read_decoder, parts); }

std::string short_text(const JsonNode& node) {
  constexpr std::size_t kMaxBytes = 16;
  const std::string_view text = node.string();
  if (text.size() > kMaxBytes) node.wrong("a string of at most 16 bytes");
  return std::string(text);
}

std::string literal_pattern(const JsonNode& node) {
  const JsonNode pattern = node["pattern"];
  if (pattern["String"].is_null()) pattern.unsupported("a regular expression", "only {\"String\": ...} here");
  const std::string_view text = pattern["String"].string();
  if (text.empty()) pattern["String"].wrong("a string that is not empty");
  return std::string(text);
}

SplitBehavior split_behavior(const JsonNode& node) {
  constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  for (const auto& [name, behavior] : kBehaviors) {
    if (name == node.string()) return behavior;
  }
  node.unsupported(node.string(), "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

std::string_view metaspace_scheme(const JsonNode& node) {
  const bool legacy_prefix = node["add_prefix_space"].boolean_or(true);
  const std::string_view scheme = node["prepend_scheme"].string_or(legacy_prefix ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    node["prepend_scheme"].unsupported(scheme, "always, first, never");
  }
  return scheme;
}

TokenId named_token(const JsonNode& name, const TokenizerParts& parts) {
  const TokenId id = parts.find(name.string());
  if (id < 0) name.wrong("a token of the vocabulary");
  return id;
}

TokenId checked_id(const JsonNode& id, const TokenizerParts& parts) {
  const std::int64_t value = id.integer();
  if (value < 0 || value >= static_cast<std::int64_t>(parts.texts.size())) id.wrong("an id of the vocabulary");
  return static_cast<TokenId>(value);
}

}  // namespace millrace::text
