#include "text/containers/tokenizer_config.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>

#include "base/strict_json.h"
#include "text/containers/tokenizer_components.h"

namespace millrace::text {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{8} << 20;

// {"100": {"content": "<s>", "lstrip": false, ...}, ...}
std::vector<AddedToken> added_tokens(const JsonNode& node) {
  std::vector<AddedToken> out;
  if (node.is_null()) return out;
  for (const auto field : node.object()) {
    const JsonNode entry = node[field.key];
    AddedToken token{.content = std::string(entry["content"].string())};
    const auto [end, error] = std::from_chars(field.key.data(), field.key.data() + field.key.size(), token.id);
    if (error != std::errc() || end != field.key.data() + field.key.size() || token.id < 0)
      entry.reject(ErrorCode::kBadFile, "its name must be the id of a token");
    if (token.content.size() > kMaxAddedTokenBytes) entry["content"].wrong("a string of at most 1024 bytes");
    token.single_word = entry["single_word"].boolean_or(false);
    token.lstrip = entry["lstrip"].boolean_or(false);
    token.rstrip = entry["rstrip"].boolean_or(false);
    token.special = entry["special"].boolean_or(false);
    out.push_back(std::move(token));
  }
  return out;
}

// "<s>" or {"content": "<s>", ...}.
std::optional<std::string> token_name(const JsonNode& node) {
  if (node.is_null()) return std::nullopt;
  return std::string(node.is_object() ? node["content"].string() : node.string());
}

std::optional<bool> flag(const JsonNode& node) {
  return node.is_null() ? std::nullopt : std::optional(node.boolean_or(false));
}

}  // namespace

TokenizerConfig read_tokenizer_config(const JsonNode& file) {
  return {.bos_token = token_name(file["bos_token"]),
          .eos_token = token_name(file["eos_token"]),
          .unk_token = token_name(file["unk_token"]),
          .pad_token = token_name(file["pad_token"]),
          .added = added_tokens(file["added_tokens_decoder"]),
          .add_bos_token = flag(file["add_bos_token"]),
          .add_eos_token = flag(file["add_eos_token"]),
          .legacy = flag(file["legacy"])};
}

TokenizerConfig parse_tokenizer_config(std::string_view json) {
  if (json.empty()) return {};
  simdjson::dom::parser parser;
  return read_tokenizer_config(
      JsonNode(parse_json(parser, json, "tokenizer_config.json", kMaxConfigBytes), "tokenizer_config.json"));
}

simdjson::dom::element parse_json(simdjson::dom::parser& parser, std::string_view json, std::string_view file,
                                  std::size_t limit) {
  if (json.size() > limit) {
    throw_load_error(ErrorCode::kBadFile, std::string(file), "{} has {} bytes; the limit is {}", file, json.size(),
                     limit);
  }
  simdjson::dom::element out;
  const auto parse = [&](std::string_view text) {
    const auto error = parser.allocate(std::max<std::size_t>(text.size(), 64), kMaxJsonDepth);
    return error ? error : parser.parse(text.data(), text.size()).get(out);
  };
  auto error = parse(json);
  if (error) error = parse(strict_json(json));
  if (error) {
    throw_load_error(ErrorCode::kBadFile, std::string(file), "{}: {}", file, simdjson::error_message(error));
  }
  return out;
}

}  // namespace millrace::text
