#include <algorithm>

#include "text/tokenizer_components.h"
#include "text/tokenizer_config.h"
#include "text/unicode.h"

namespace millrace::text {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{8} << 20;

simdjson::dom::element parse(simdjson::dom::parser& parser, std::string_view json, std::string_view file,
                             std::size_t limit) {
  if (json.size() > limit) {
    throw_load_error(ErrorCode::kBadFile, std::string(file), "{} has {} bytes; the limit is {}", file, json.size(),
                     limit);
  }
  simdjson::dom::element out;
  auto error = parser.allocate(std::max<std::size_t>(json.size(), 64), kMaxJsonDepth);
  if (!error) error = parser.parse(json.data(), json.size()).get(out);
  if (error) {
    throw_load_error(ErrorCode::kBadFile, std::string(file), "{}: {}", file, simdjson::error_message(error));
  }
  return out;
}

class Loader {
 public:
  TokenizerParts load(const JsonNode& file, const TokenizerConfig& config);

 private:
  void read_vocabulary(const JsonNode& model, const JsonNode& added);
  void read_added_token(const JsonNode& node);
  void place(const JsonNode& where, std::string_view text, std::int64_t id);
  void add_named_specials(const TokenizerConfig& config);
  void read_model_options(const JsonNode& model);
  void read_merges(const JsonNode& merges);
  std::pair<std::string_view, std::string_view> merge_sides(const JsonNode& merges, std::size_t rank,
                                                            simdjson::dom::element merge) const;
  void name_roles(const TokenizerConfig& config);
  TokenId find(std::string_view text) const { return parts_.by_text.find(parts_.texts, text); }

  TokenizerParts parts_;
  std::vector<std::string_view> spellings_;  // by id, while the size of the vocabulary is not known
};

void Loader::place(const JsonNode& where, std::string_view text, std::int64_t id) {
  if (id < 0 || id >= static_cast<std::int64_t>(kMaxTokens)) {
    throw_load_error(ErrorCode::kBadFile, where.path(), "{}: the id of \"{}\" is {}; 0 to {} are possible",
                     where.path(), text, id, kMaxTokens - 1);
  }
  const auto at = static_cast<std::size_t>(id);
  if (at >= spellings_.size()) spellings_.resize(std::max(at + 1, std::min(kMaxTokens, spellings_.size() * 2)));
  if (!spellings_[at].empty() && spellings_[at] != text) {
    throw_load_error(ErrorCode::kBadFile, where.path(), "{}: id {} is both \"{}\" and \"{}\"", where.path(), id,
                     spellings_[at], text);
  }
  spellings_[at] = text;
}

void Loader::read_vocabulary(const JsonNode& model, const JsonNode& added) {
  const JsonNode vocabulary = model["vocab"];
  for (const auto field : vocabulary.object()) {
    std::int64_t id = 0;
    if (field.value.get(id) != simdjson::SUCCESS) vocabulary[field.key].wrong("an integer");
    place(vocabulary, field.key, id);
  }
  for (const JsonNode& token : added.items()) read_added_token(token);
  while (!spellings_.empty() && spellings_.back().empty()) spellings_.pop_back();
  parts_.texts.reserve(spellings_.size(), spellings_.size() * 8);
  parts_.by_text.reserve(spellings_.size());
  for (std::size_t id = 0; id < spellings_.size(); ++id) {
    parts_.texts.push_back(spellings_[id]);
    parts_.by_text.insert(parts_.texts, static_cast<TokenId>(id));
  }
  for (const AddedToken& token : parts_.added) {
    if (find(token.content) == token.id) continue;
    throw_load_error(ErrorCode::kBadFile, added.path(), "{}: \"{}\" has the ids {} and {}", added.path(), token.content,
                     find(token.content), token.id);
  }
}

void Loader::read_added_token(const JsonNode& node) {
  AddedToken token;
  token.content = node["content"].string();
  if (token.content.empty()) return;
  if (token.content.size() > kMaxAddedTokenBytes) {
    throw_load_error(ErrorCode::kBadFile, node.path(), "{}.content has {} bytes; the limit is {}", node.path(),
                     token.content.size(), kMaxAddedTokenBytes);
  }
  token.single_word = node["single_word"].boolean_or(false);
  token.lstrip = node["lstrip"].boolean_or(false);
  token.rstrip = node["rstrip"].boolean_or(false);
  token.special = node["special"].boolean_or(false);
  token.normalized = node["normalized"].boolean_or(!token.special);
  const std::int64_t id = node["id"].integer();
  place(node, node["content"].string(), id);
  token.id = static_cast<TokenId>(id);
  parts_.added.push_back(std::move(token));
}

// Transformers makes special every token that the configuration gives a role, whether tokenizer.json lists it or not.
void Loader::add_named_specials(const TokenizerConfig& config) {
  for (const auto& name : {config.bos_token, config.eos_token, config.unk_token, config.pad_token}) {
    const TokenId id = name ? find(*name) : -1;
    if (id < 0 || name->size() > kMaxAddedTokenBytes) continue;
    const auto known = std::ranges::find(parts_.added, *name, &AddedToken::content);
    if (known == parts_.added.end()) parts_.added.push_back({.id = id, .content = *name, .special = true});
  }
}

void Loader::read_model_options(const JsonNode& model) {
  const std::string_view type = model["type"].string_or("BPE");  // files of 2019 name no type
  if (type != "BPE") model["type"].unsupported(type, "BPE");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model[affix].string_or("").empty()) model[affix].unsupported(model[affix].string(), "null");
  }
  const JsonNode dropout = model["dropout"];
  if (!dropout.is_null()) dropout.unsupported("a number", "null: encoding must not be random");
  parts_.bpe.byte_level = parts_.pre_tokenizer.byte_level;
  parts_.bpe.byte_fallback = model["byte_fallback"].boolean_or(false);
  parts_.bpe.fuse_unk = model["fuse_unk"].boolean_or(false);
  parts_.bpe.ignore_merges = model["ignore_merges"].boolean_or(false);
  const std::string_view unk = model["unk_token"].string_or("");
  if (unk.empty()) return;
  parts_.bpe.unk = find(unk);
  if (parts_.bpe.unk < 0) model["unk_token"].wrong("a token of the vocabulary");
}

// "left right" or ["left", "right"].
std::pair<std::string_view, std::string_view> Loader::merge_sides(const JsonNode& merges, std::size_t rank,
                                                                  simdjson::dom::element merge) const {
  std::string_view text, left, right;
  if (merge.get(text) == simdjson::SUCCESS) {
    const std::size_t space = text.find(' ');
    left = text.substr(0, space);
    if (space != text.npos) right = text.substr(space + 1);
    if (right.find(' ') != right.npos) right = {};
  } else if (simdjson::dom::array pair; merge.get(pair) == simdjson::SUCCESS && pair.size() == 2) {
    if (pair.at(0).get(left) || pair.at(1).get(right)) left = right = {};
  }
  if (!left.empty() && !right.empty()) return {left, right};
  throw_load_error(ErrorCode::kBadFile, merges.path(), "{}[{}] must be \"left right\" or [left, right]", merges.path(),
                   rank);
}

void Loader::read_merges(const JsonNode& merges) {
  const simdjson::dom::array array = merges.array();
  parts_.merges.reserve(array.size());
  std::string whole;
  std::uint32_t rank = 0;
  for (const simdjson::dom::element merge : array) {
    const auto [left, right] = merge_sides(merges, rank, merge);
    whole.assign(left).append(right);
    const TokenId a = find(left), b = find(right), result = find(whole);
    if (a < 0 || b < 0 || result < 0) {
      throw_load_error(ErrorCode::kBadFile, merges.path(), "{}[{}] is \"{} {}\": \"{}\" is not in the vocabulary",
                       merges.path(), rank, left, right,
                       a < 0   ? left
                       : b < 0 ? right
                               : std::string_view(whole));
    }
    parts_.merges.insert(a, b, {rank++, result});
  }
}

void Loader::name_roles(const TokenizerConfig& config) {
  const auto id_of = [&](const std::optional<std::string>& name) {
    const TokenId id = name ? find(*name) : -1;
    return id >= 0 ? std::optional(id) : std::nullopt;
  };
  parts_.bos = id_of(config.bos_token);
  parts_.eos = id_of(config.eos_token);
  if (!config.bos_token && !parts_.prefix.empty()) parts_.bos = parts_.prefix.front();
}

TokenizerParts Loader::load(const JsonNode& file, const TokenizerConfig& config) {
  const JsonNode model = file["model"];
  read_pre_tokenizer(file["pre_tokenizer"], parts_);
  read_normalizer(file["normalizer"], parts_);
  read_decoder(file["decoder"], parts_);
  read_vocabulary(model, file["added_tokens"]);
  read_model_options(model);
  read_merges(model["merges"]);
  add_named_specials(config);
  read_post_processor(file["post_processor"], parts_);
  name_roles(config);
  parts_.end_of_generation = find_end_of_generation(parts_);
  parts_.kind = parts_.bpe.byte_level ? "byte-level BPE" : "SentencePiece BPE";
  std::vector<bool> hidden(parts_.texts.size());
  for (const AddedToken& token : parts_.added) hidden[static_cast<std::size_t>(token.id)] = token.special;
  parts_.forms = make_forms(parts_.texts, hidden, parts_.bpe.byte_level);
  return std::move(parts_);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_tokenizer_json(std::string_view tokenizer_json,
                                                             std::string_view tokenizer_config_json) {
  try {
    simdjson::dom::parser parser, config_parser;
    TokenizerConfig config;
    if (!tokenizer_config_json.empty()) {
      config = read_tokenizer_config(
          JsonNode(parse(config_parser, tokenizer_config_json, "tokenizer_config.json", kMaxConfigBytes), ""));
    }
    const JsonNode file(parse(parser, tokenizer_json, "tokenizer.json", kMaxVocabularyBytes), "");
    return make_bpe_tokenizer(Loader().load(file, config));
  } catch (const LoadError& e) {
    return e.error();
  }
}

}  // namespace millrace::text
