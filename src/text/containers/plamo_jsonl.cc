#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>

#include "text/added_tokens.h"
#include "text/containers/json_node.h"
#include "text/containers/sentencepiece_model.h"
#include "text/containers/tokenizer_config.h"
#include "text/tokenizer.h"

// tokenizer.jsonl of PLaMo 2 and 3: each line is a list that begins with a token, its score and its type.
namespace millrace::text {
namespace {

constexpr std::string_view kFile = "tokenizer.jsonl";
constexpr std::string_view kOp = "<|plamo:op|>";  // begins and ends what someone says

SentencePieceModel::PieceType type_of(std::string_view name, std::string_view token) {
  using enum SentencePieceModel::PieceType;
  if (name == "UNKNOWN") return kUnknown;
  if (name == "CONTROL") return kControl;
  if (name == "BYTE") return kByte;
  return token.starts_with("<|plamo:") && token.ends_with("|>") ? kControl : kNormal;
}

void add_line(const JsonNode& line, GgufVocabulary& v) {
  const std::vector<JsonNode> items = line.items();
  if (items.size() < 3) line.wrong("a list of a token, its score and its type");
  const std::string_view token = items[0].string();
  v.tokens.emplace_back(token);
  v.scores.push_back(static_cast<float>(items[1].number()));
  v.token_types.push_back(static_cast<std::int32_t>(type_of(items[2].string(), token)));
}

void read_lines(std::string_view file, GgufVocabulary& v) {
  simdjson::dom::parser parser;
  for (std::size_t number = 1; !file.empty(); ++number) {
    const std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(file.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = fmt::format("{}, line {}", kFile, number);
    add_line(JsonNode(parse_json(parser, line, where, kMaxVocabularyBytes), std::string_view(where)), v);
    if (v.tokens.size() > kMaxTokens)
      throw_load_error(ErrorCode::kBadFile, std::string(kFile), "{}: too many tokens", where);
  }
}

GgufVocabulary read(std::string_view file, std::string_view config_json) {
  GgufVocabulary v;
  v.model = "plamo2";
  read_lines(file, v);
  const TokenizerConfig config = parse_tokenizer_config(config_json);
  const auto find = [&](std::string_view token) -> std::optional<TokenId> {
    const auto found = std::ranges::find(v.tokens, token);
    return found == v.tokens.end() ? std::nullopt : std::optional(static_cast<TokenId>(found - v.tokens.begin()));
  };
  v.bos = find(config.bos_token.value_or("<|plamo:bos|>"));
  v.eos = find(config.eos_token.value_or("<|plamo:eos|>"));
  v.unk = find(config.unk_token.value_or("<|plamo:unk|>"));
  v.pad = find(config.pad_token.value_or("<|plamo:pad|>"));
  v.eot = find(kOp);
  v.add_bos = config.add_bos_token;
  v.add_eos = config.add_eos_token;
  return v;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_plamo_jsonl(std::string_view file, std::string_view tokenizer_config_json,
                                                          std::span<const TokenId> /*ends*/) {
  try {
    auto tokenizer = load_gguf_tokenizer(read(file, tokenizer_config_json));
    if (tokenizer) return tokenizer;
    Error error = tokenizer.error();
    error.message = fmt::format("{}: {}", kFile, error.message);
    return error;
  } catch (const LoadError& e) {
    return e.error();
  }
}

}  // namespace millrace::text
