#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <unordered_map>

#include "base/log.h"
#include "text/containers/tokenizer_components.h"
#include "text/containers/tokenizer_config.h"
#include "text/parts_tokenizer.h"

namespace millrace::text {
namespace {

std::string too_many() { return fmt::format("more than {} tokens; the limit is that", kMaxTokens); }

class TokenizerJsonLoader {
 public:
  TokenizerParts load(const JsonNode& file, const TokenizerConfig& config);

 private:
  void place_in_order(const JsonNode& vocabulary);
  void place_by_id(const JsonNode& vocabulary);
  void read_vocabulary(const JsonNode& vocabulary);
  void read_added_tokens(const JsonNode& added);
  void add(const JsonNode& where, AddedToken token);
  TokenId new_id(const JsonNode& where, const std::string& content);
  void compare_id(const JsonNode& where, const AddedToken& token);
  void report_other_ids() const;
  void add_named_specials(const TokenizerConfig& config);
  void name_roles(const TokenizerConfig& config);

  TokenizerParts parts_;
  std::vector<std::string_view> spellings_;              // of the model's vocabulary, by id
  std::size_t model_size_ = 0, outside_ = 0;             // tokens of the model, and added ones that it does not have
  std::unordered_map<std::string, std::size_t> places_;  // in parts_.added, by content
  std::string other_id_;                                 // the first added token of which the file gives another id
  std::size_t other_ids_ = 0;
};

// [[spelling, score], ...]: Unigram's.
void TokenizerJsonLoader::place_in_order(const JsonNode& vocabulary) {
  for (const simdjson::dom::element entry : vocabulary.array()) {
    simdjson::dom::array pair;
    std::string_view text;
    if (entry.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(text) != simdjson::SUCCESS) {
      vocabulary.items()[spellings_.size()].wrong("[spelling, score]");
    }
    if (spellings_.size() == kMaxTokens) vocabulary.reject(ErrorCode::kBadFile, too_many());
    spellings_.push_back(text);
  }
  model_size_ = spellings_.size();
}

// {spelling: id, ...}: all the others'.
void TokenizerJsonLoader::place_by_id(const JsonNode& vocabulary) {
  for (const auto field : vocabulary.object()) {
    std::int64_t id = 0;
    if (field.value.get(id) != simdjson::SUCCESS) vocabulary[field.key].wrong("an integer");
    if (id < 0 || id >= static_cast<std::int64_t>(kMaxTokens)) {
      vocabulary[field.key].wrong(fmt::format("an id from 0 to {}", kMaxTokens - 1));
    }
    const auto at = static_cast<std::size_t>(id);
    if (at >= spellings_.size()) spellings_.resize(std::max(at + 1, std::min(kMaxTokens, spellings_.size() * 2)));
    if (!spellings_[at].empty() && spellings_[at] != field.key) {
      vocabulary[field.key].reject(ErrorCode::kBadFile, fmt::format("the id {} is \"{}\" too", id, spellings_[at]));
    }
    spellings_[at] = field.key;
    ++model_size_;
  }
  while (!spellings_.empty() && spellings_.back().empty()) spellings_.pop_back();
}

// Of equal spellings the last one counts.
void TokenizerJsonLoader::read_vocabulary(const JsonNode& vocabulary) {
  if (vocabulary.is_array()) {
    place_in_order(vocabulary);
  } else {
    place_by_id(vocabulary);
  }
  parts_.reserve_texts(spellings_.size(), spellings_.size() * 8);
  for (const std::string_view spelling : spellings_) {
    parts_.texts.push_back(spelling);
    parts_.in_model.push_back(!spelling.empty());
  }
  for (std::size_t id = spellings_.size(); id-- > 0;) {
    const auto token = static_cast<TokenId>(id);
    if (!parts_.by_text.insert(parts_.texts, token) && !spellings_[id].empty()) parts_.repeated.push_back(token);
  }
  if (!vocabulary.is_array()) model_size_ -= parts_.repeated.size();
}

// The ids are those that the library tokenizers gives, which does not look at the ones written here: the vocabulary's,
// or else the next one behind as many as the vocabulary has tokens. A token that is there already gets other flags.
void TokenizerJsonLoader::read_added_tokens(const JsonNode& added) {
  for (const JsonNode& node : added.items()) {
    AddedToken token;
    token.content = node["content"].string();
    if (token.content.size() > kMaxAddedTokenBytes) {
      node["content"].reject(ErrorCode::kBadFile,
                             fmt::format("{} bytes; the limit is {}", token.content.size(), kMaxAddedTokenBytes));
    }
    token.single_word = node["single_word"].boolean_or(false);
    token.lstrip = node["lstrip"].boolean_or(false);
    token.rstrip = node["rstrip"].boolean_or(false);
    token.special = node["special"].boolean_or(false);
    token.normalized = node["normalized"].boolean_or(!token.special);
    const std::int64_t id = node["id"].integer();
    if (id < 0 || id > UINT32_MAX) node["id"].wrong("an id from 0 to 4294967295");
    if (!token.content.empty()) add(node, std::move(token));
  }
}

void TokenizerJsonLoader::add(const JsonNode& where, AddedToken token) {
  const auto [place, is_new] = places_.try_emplace(token.content, parts_.added.size());
  if (is_new) {
    token.id = parts_.find(token.content);
    if (token.id < 0) token.id = new_id(where, token.content);
    parts_.added.push_back(std::move(token));
  } else {
    AddedToken& known = parts_.added[place->second];
    token.id = known.id;
    token.special = token.special || known.special;
    known = std::move(token);
  }
  compare_id(where, parts_.added[place->second]);
}

TokenId TokenizerJsonLoader::new_id(const JsonNode& where, const std::string& content) {
  const std::size_t id = model_size_ + outside_++;
  if (id >= kMaxTokens) where.reject(ErrorCode::kBadFile, too_many());
  while (parts_.texts.size() < id) {  // an empty spelling at the vocabulary's end counts, and is no token
    parts_.texts.push_back("");
    parts_.in_model.push_back(false);
  }
  if (id == parts_.texts.size()) {
    parts_.add_text(content);
    parts_.in_model.push_back(false);
  } else {
    parts_.in_holes.emplace(content, static_cast<TokenId>(id));
  }
  return static_cast<TokenId>(id);
}

void TokenizerJsonLoader::compare_id(const JsonNode& where, const AddedToken& token) {
  const std::int64_t id = where["id"].integer();
  if (id == token.id || other_ids_++ > 0) return;
  other_id_ = fmt::format("{} gives \"{}\" the id {}; it has {}", where.where(), token.content, id, token.id);
}

void TokenizerJsonLoader::report_other_ids() const {
  if (other_ids_ == 0) return;
  log::warn("{}, the vocabulary's or else the next free one, as the library tokenizers has it{}", other_id_,
            other_ids_ == 1 ? "" : fmt::format(" ({} more such tokens)", other_ids_ - 1));
}

// Transformers makes special every token that the configuration gives a role, whether tokenizer.json lists it or not.
void TokenizerJsonLoader::add_named_specials(const TokenizerConfig& config) {
  for (const auto& name : {config.bos_token, config.eos_token, config.unk_token, config.pad_token}) {
    const std::optional<TokenId> id = parts_.find_named(name);
    if (!id || name->size() > kMaxAddedTokenBytes) continue;
    const auto known = std::ranges::find(parts_.added, *name, &AddedToken::content);
    if (known == parts_.added.end()) parts_.added.push_back({.id = *id, .content = *name, .special = true});
  }
}

void TokenizerJsonLoader::name_roles(const TokenizerConfig& config) {
  parts_.bos = parts_.find_named(config.bos_token);
  parts_.eos = parts_.find_named(config.eos_token);
  if (!config.bos_token && !parts_.prefix.empty()) parts_.bos = parts_.prefix.front();
}

TokenizerParts TokenizerJsonLoader::load(const JsonNode& file, const TokenizerConfig& config) {
  const JsonNode model = file["model"];
  read_pre_tokenizer(file["pre_tokenizer"], parts_);
  read_normalizer(file["normalizer"], parts_);
  read_decoder(file["decoder"], parts_);
  read_vocabulary(model["vocab"]);
  read_added_tokens(file["added_tokens"]);
  report_other_ids();
  add_named_specials(config);
  read_model(model, parts_);
  read_post_processor(file["post_processor"], parts_);
  name_roles(config);
  parts_.end_of_generation = find_end_of_generation(parts_);
  return std::move(parts_);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_tokenizer_json(std::string_view tokenizer_json,
                                                             std::string_view tokenizer_config_json,
                                                             std::span<const TokenId> ends) {
  try {
    const TokenizerConfig config = parse_tokenizer_config(tokenizer_config_json);
    simdjson::dom::parser parser;
    const JsonNode file(parse_json(parser, tokenizer_json, "tokenizer.json", kMaxVocabularyBytes), "tokenizer.json");
    TokenizerParts parts = TokenizerJsonLoader().load(file, config);
    add_end_tokens(ends, parts);
    return make_tokenizer(std::move(parts));
  } catch (const LoadError& e) {
    return with_advice(e.error(), "The file is damaged or was edited: download it again, or save the tokenizer anew",
                       "Another file of the model may do without it: a tokenizer.model, or a GGUF file");
  }
}

}  // namespace millrace::text
