#include <algorithm>

#include "text/tokenizer_components.h"
#include "text/tokenizer_config.h"
#include "text/unicode.h"

namespace millrace::text {
namespace {

class Loader {
 public:
  TokenizerParts load(const JsonNode& file, const TokenizerConfig& config);

 private:
  void place_in_order(const JsonNode& vocabulary);
  void read_vocabulary(const JsonNode& model, const JsonNode& added);
  void read_added_token(const JsonNode& node);
  void place(const JsonNode& where, std::string_view text, std::int64_t id);
  void add_named_specials(const TokenizerConfig& config);
  void name_roles(const TokenizerConfig& config);
  TokenId find(std::string_view text) const { return parts_.find(text); }

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

// [[spelling, score], ...]: Unigram's.
void Loader::place_in_order(const JsonNode& vocabulary) {
  std::int64_t id = 0;
  for (const simdjson::dom::element entry : vocabulary.array()) {
    simdjson::dom::array pair;
    std::string_view text;
    if (entry.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(text) != simdjson::SUCCESS) {
      throw_load_error(ErrorCode::kBadFile, vocabulary.path(), "{}[{}] must be [spelling, score]", vocabulary.path(),
                       id);
    }
    place(vocabulary, text, id++);
  }
}

void Loader::read_vocabulary(const JsonNode& model, const JsonNode& added) {
  const JsonNode vocabulary = model["vocab"];
  if (vocabulary.is_array()) {
    place_in_order(vocabulary);
  } else {
    for (const auto field : vocabulary.object()) {
      std::int64_t id = 0;
      if (field.value.get(id) != simdjson::SUCCESS) vocabulary[field.key].wrong("an integer");
      place(vocabulary, field.key, id);
    }
  }
  std::vector<bool> in_model;
  for (const std::string_view spelling : spellings_) in_model.push_back(!spelling.empty());
  for (const JsonNode& token : added.items()) read_added_token(token);
  while (!spellings_.empty() && spellings_.back().empty()) spellings_.pop_back();
  in_model.resize(spellings_.size());
  parts_.in_model = std::move(in_model);
  parts_.reserve_texts(spellings_.size(), spellings_.size() * 8);
  for (const std::string_view spelling : spellings_) parts_.add_text(spelling);
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
    const std::optional<TokenId> id = parts_.find_named(name);
    if (!id || name->size() > kMaxAddedTokenBytes) continue;
    const auto known = std::ranges::find(parts_.added, *name, &AddedToken::content);
    if (known == parts_.added.end()) parts_.added.push_back({.id = *id, .content = *name, .special = true});
  }
}

void Loader::name_roles(const TokenizerConfig& config) {
  parts_.bos = parts_.find_named(config.bos_token);
  parts_.eos = parts_.find_named(config.eos_token);
  if (!config.bos_token && !parts_.prefix.empty()) parts_.bos = parts_.prefix.front();
}

TokenizerParts Loader::load(const JsonNode& file, const TokenizerConfig& config) {
  const JsonNode model = file["model"];
  read_pre_tokenizer(file["pre_tokenizer"], parts_);
  read_normalizer(file["normalizer"], parts_);
  read_decoder(file["decoder"], parts_);
  read_vocabulary(model, file["added_tokens"]);
  add_named_specials(config);
  read_model(model, parts_);
  read_post_processor(file["post_processor"], parts_);
  name_roles(config);
  parts_.end_of_generation = find_end_of_generation(parts_);
  return std::move(parts_);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_tokenizer_json(std::string_view tokenizer_json,
                                                             std::string_view tokenizer_config_json) {
  try {
    const TokenizerConfig config = parse_tokenizer_config(tokenizer_config_json);
    simdjson::dom::parser parser;
    const JsonNode file(parse_json(parser, tokenizer_json, "tokenizer.json", kMaxVocabularyBytes), "");
    return make_tokenizer(Loader().load(file, config));
  } catch (const LoadError& e) {
    return e.error();
  }
}

}  // namespace millrace::text
