#include "text/tokenizer_components.h"

namespace millrace::text {
namespace {

// ---- normalizers
void nfc(const JsonNode&, TokenizerParts& parts) { parts.normalizers.push_back(make_nfc()); }

void prepend(const JsonNode& node, TokenizerParts& parts) {
  parts.normalizers.push_back(make_prepend(short_text(node["prepend"])));
}

std::string literal_pattern(const JsonNode& node) {
  const JsonNode pattern = node["pattern"];
  if (pattern["String"].is_null()) pattern.unsupported("a regular expression", "only {\"String\": ...} here");
  const std::string_view text = pattern["String"].string();
  if (text.empty()) pattern["String"].wrong("a string that is not empty");
  return std::string(text);
}

void replace(const JsonNode& node, TokenizerParts& parts) {
  parts.normalizers.push_back(make_replace(literal_pattern(node), short_text(node["content"])));
}

void normalizer_sequence(const JsonNode& node, TokenizerParts& parts) {
  for (const JsonNode& item : node["normalizers"].items()) read_normalizer(item, parts);
}

// ---- decoders: a token's own replacements, then bytes, then the whole text, in this order
void byte_level_decoder(const JsonNode&, TokenizerParts& parts) { parts.decoder.byte_level = true; }

void replace_decoder(const JsonNode& node, TokenizerParts& parts) {
  if (parts.decoder.byte_fallback || parts.decoder.fused)
    node.unsupported("Replace", "it only before ByteFallback and Fuse");
  parts.decoder.replacements.push_back({literal_pattern(node), short_text(node["content"])});
}

void byte_fallback(const JsonNode& node, TokenizerParts& parts) {
  if (parts.decoder.fused) node.unsupported("ByteFallback", "it only before Fuse");
  parts.decoder.byte_fallback = true;
}

void fuse(const JsonNode&, TokenizerParts& parts) { parts.decoder.fused = true; }

void strip(const JsonNode& node, TokenizerParts& parts) {
  const bool known = parts.decoder.fused && !parts.decoder.strip_leading_space && node["content"].string() == " " &&
                     node["start"].integer() == 1 && node["stop"].integer() == 0;
  if (!known) node.unsupported("Strip", "it only after Fuse, with one leading space");
  parts.decoder.strip_leading_space = true;
}

void decoder_sequence(const JsonNode& node, TokenizerParts& parts) {
  for (const JsonNode& item : node["decoders"].items()) read_decoder(item, parts);
}

// ---- post-processors
void no_effect_on_ids(const JsonNode&, TokenizerParts&) {}

void append_template_tokens(const JsonNode& special_tokens, const JsonNode& name, const TokenizerParts& parts,
                            std::vector<TokenId>& out) {
  for (const JsonNode& id : special_tokens[name.string()]["ids"].items()) {
    const std::int64_t value = id.integer();
    if (value < 0 || value >= static_cast<std::int64_t>(parts.texts.size())) id.wrong("an id of the vocabulary");
    out.push_back(static_cast<TokenId>(value));
  }
}

void template_processing(const JsonNode& node, TokenizerParts& parts) {
  std::vector<TokenId> before, after;
  int texts = 0;
  for (const JsonNode& item : node["single"].items()) {
    const JsonNode special = item["SpecialToken"];
    if (special.is_null()) {
      if (item["Sequence"]["id"].string() != "A") item.wrong("SpecialToken or Sequence A");
      ++texts;
    } else {
      append_template_tokens(node["special_tokens"], special["id"], parts, texts == 0 ? before : after);
    }
  }
  if (texts != 1) node["single"].wrong("a template with Sequence A once");
  parts.prefix.insert(parts.prefix.begin(), before.begin(), before.end());
  parts.suffix.insert(parts.suffix.end(), after.begin(), after.end());
}

void post_processor_sequence(const JsonNode& node, TokenizerParts& parts) {
  for (const JsonNode& item : node["processors"].items()) read_post_processor(item, parts);
}

constexpr ComponentReader kNormalizers[] = {
    {"NFC", nfc}, {"Prepend", prepend}, {"Replace", replace}, {"Sequence", normalizer_sequence}};
constexpr ComponentReader kDecoders[] = {{"ByteLevel", byte_level_decoder},
                                         {"Replace", replace_decoder},
                                         {"ByteFallback", byte_fallback},
                                         {"Fuse", fuse},
                                         {"Strip", strip},
                                         {"Sequence", decoder_sequence}};
constexpr ComponentReader kPostProcessors[] = {{"ByteLevel", no_effect_on_ids},
                                               {"TemplateProcessing", template_processing},
                                               {"Sequence", post_processor_sequence}};

}  // namespace

void read_component(const JsonNode& node, std::span<const ComponentReader> readers, TokenizerParts& parts) {
  const JsonNode type = node["type"];
  std::string known;
  for (const ComponentReader& reader : readers) {
    if (reader.type == type.string()) return reader.read(node, parts);
    known += (known.empty() ? "" : ", ") + std::string(reader.type);
  }
  type.unsupported(type.string(), known);
}

std::string short_text(const JsonNode& node) {
  constexpr std::size_t kMaxBytes = 16;
  const std::string_view text = node.string();
  if (text.size() > kMaxBytes) node.wrong("a string of at most 16 bytes");
  return std::string(text);
}

void read_normalizer(const JsonNode& node, TokenizerParts& parts) {
  if (!node.is_null()) read_component(node, kNormalizers, parts);
}

void read_decoder(const JsonNode& node, TokenizerParts& parts) {
  if (node.is_null()) node.unsupported("null", "ByteLevel or a Sequence");
  read_component(node, kDecoders, parts);
}

void read_post_processor(const JsonNode& node, TokenizerParts& parts) {
  if (!node.is_null()) read_component(node, kPostProcessors, parts);
}

}  // namespace millrace::text
