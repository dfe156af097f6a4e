#include <algorithm>
#include <limits>

#include "text/bpe/bpe_model.h"
#include "text/bpe/score_merges.h"
#include "text/byte_fallback.h"
#include "text/containers/sentencepiece_decoder.h"
#include "text/containers/sentencepiece_model.h"
#include "text/containers/sentencepiece_text.h"
#include "text/containers/tokenizer_config.h"
#include "text/parts_tokenizer.h"
#include "text/unigram_model.h"

namespace millrace::text {
namespace {

using Model = SentencePieceModel;

// How much worse an unknown character is than the worst ordinary piece.
constexpr float kUnknownPenalty = 10;

class Builder {
 public:
  Builder(const Model& model, std::vector<AddedToken> added) : model_(model), added_(std::move(added)) {}

  TokenizerParts build() {
    list_texts();
    parts_.add_step(make_sentencepiece_text(model_, user_defined()));
    parts_.add_decoder(make_sentencepiece_decoder(model_));
    if (model_.kind == Model::Kind::kUnigram) {
      add_unigram();
    } else {
      add_bpe();
    }
    return std::move(parts_);
  }

 private:
  void list_texts();
  void add_unigram();
  void add_bpe();
  StringTable user_defined() const;
  std::vector<double> unigram_scores() const;
  std::vector<TokenId> byte_tokens() const;
  bool has_type(std::size_t id, Model::PieceType type) const {
    return id < model_.pieces.size() && model_.pieces[id].type == type;
  }
  // A piece of this type that nothing hides.
  bool is(std::size_t id, Model::PieceType type) const { return !hidden_[id] && has_type(id, type); }

  const Model& model_;
  std::vector<AddedToken> added_;
  TokenizerParts parts_;
  std::vector<bool> hidden_;  // by id: no text becomes it; it is control, unknown, special or behind the pieces
};

void Builder::list_texts() {
  std::vector<std::string> texts;
  texts.reserve(model_.pieces.size() + added_.size());
  for (const Model::Piece& piece : model_.pieces) {
    const auto id = static_cast<TokenId>(texts.size());
    texts.push_back(piece.text);
    hidden_.push_back(piece.type == Model::kControl || piece.type == Model::kUnknown);
    if (piece.type == Model::kControl && !piece.text.empty() && piece.text.size() <= kMaxAddedTokenBytes) {
      parts_.added.push_back({.id = id, .content = piece.text, .special = true});
    }
  }
  for (AddedToken& token : added_) {
    const auto id = static_cast<std::size_t>(token.id);
    if (token.content.empty() || id >= kMaxTokens) continue;
    if (id >= texts.size()) texts.resize(id + 1);
    if (!texts[id].empty() && texts[id] != token.content) {
      throw_load_error(ErrorCode::kBadFile, "added_tokens_decoder",
                       "tokenizer_config.json: /added_tokens_decoder/{}: id {} is \"{}\" there and \"{}\" in "
                       "tokenizer.model",
                       id, id, token.content, texts[id]);
    }
    texts[id] = token.content;
    if (id < hidden_.size() && token.special && !is_symbol(token.content)) hidden_[id] = true;
    std::erase_if(parts_.added, [&](const AddedToken& other) { return other.id == token.id; });
    parts_.added.push_back(std::move(token));
  }
  hidden_.resize(texts.size(), true);
  parts_.reserve_texts(texts.size(), texts.size() * 8);
  for (const std::string& text : texts) parts_.add_text(text);
}

StringTable Builder::user_defined() const {
  StringTable out;
  for (std::size_t id = 0; id < hidden_.size(); ++id) {
    if (is(id, Model::kUserDefined)) out.push_back(model_.pieces[id].text);
  }
  return out;
}

// A user-defined piece gets 0.1 for each byte but the first, as SentencePiece 0.2.3 has it, where others have
// logarithms of probabilities.
std::vector<double> Builder::unigram_scores() const {
  std::vector<double> scores(hidden_.size());
  for (std::size_t id = 0; id < model_.pieces.size(); ++id) {
    const Model::Piece& piece = model_.pieces[id];
    const double bonus = 0.1 * static_cast<double>(piece.text.size()) - 0.1;
    scores[id] = piece.type == Model::kUserDefined ? static_cast<float>(bonus) : piece.score;
  }
  return scores;
}

std::vector<TokenId> Builder::byte_tokens() const {
  std::vector<TokenId> out(256, -1);
  for (std::size_t id = 0; id < model_.pieces.size(); ++id) {
    const int byte = has_type(id, Model::kByte) ? byte_of_fallback_token(model_.pieces[id].text) : -1;
    if (byte >= 0) out[static_cast<std::size_t>(byte)] = static_cast<TokenId>(id);
  }
  return out;
}

void Builder::add_unigram() {
  parts_.kind = "SentencePiece Unigram";
  float lowest = std::numeric_limits<float>::max();
  StringTable forms;
  for (std::size_t id = 0; id < hidden_.size(); ++id) {
    const bool in_text = is(id, Model::kNormal) || is(id, Model::kUserDefined);
    forms.push_back(in_text ? parts_.texts[id] : "");
    if (has_type(id, Model::kNormal)) lowest = std::min(lowest, model_.pieces[id].score);
  }
  UnigramOptions options;
  options.arithmetic = UnigramOptions::Arithmetic::kSentencePiece;
  options.unk = model_.unk.value_or(-1);
  options.unk_score = lowest - kUnknownPenalty;
  options.byte_fallback = model_.byte_fallback;
  parts_.model = std::make_unique<UnigramModel>(options, forms, unigram_scores(), byte_tokens());
}

void Builder::add_bpe() {
  parts_.kind = "SentencePiece BPE";
  BpeOptions options;
  if (model_.byte_fallback) options.fallback_bytes = byte_tokens();
  options.fuse_unk = true;
  options.unk = model_.unk.value_or(-1);
  options.cut_before = kSpaceSymbol;
  std::vector<float> scores(hidden_.size());
  std::vector<bool> mergeable(hidden_.size());
  for (std::size_t id = 0; id < hidden_.size(); ++id) {
    if (id < model_.pieces.size()) scores[id] = model_.pieces[id].score;
    mergeable[id] = has_type(id, Model::kNormal) || has_type(id, Model::kUnused);
    if (is(id, Model::kUserDefined)) options.indivisible.push_back(static_cast<TokenId>(id));
  }
  MergeTable merges = merges_from_scores(parts_, scores, mergeable);
  parts_.model =
      std::make_unique<BpeModel>(std::move(options), make_forms(parts_.texts, hidden_, false), std::move(merges));
}

TokenizerParts load(std::string_view file, std::string_view config_json) {
  const TokenizerConfig config = parse_tokenizer_config(config_json);
  Model model = parse_sentencepiece_model(file);
  model.prefixes_every_segment = config.legacy.value_or(true);
  TokenizerParts parts = sentencepiece_parts(model, config.added);
  const auto role = [&](const std::optional<std::string>& name, std::string_view piece) {
    const std::optional<TokenId> id = parts.find_named(name);
    return id ? id : model.find_control(piece);
  };
  parts.bos = role(config.bos_token, model.bos_piece);
  parts.eos = role(config.eos_token, model.eos_piece);
  if (parts.bos && config.add_bos_token.value_or(true)) parts.prefix.push_back(*parts.bos);
  if (parts.eos && config.add_eos_token.value_or(false)) parts.suffix.push_back(*parts.eos);
  parts.end_of_generation = find_end_of_generation(parts);
  return parts;
}

}  // namespace

TokenizerParts sentencepiece_parts(const SentencePieceModel& model, std::vector<AddedToken> added) {
  return Builder(model, std::move(added)).build();
}

Result<std::shared_ptr<const Tokenizer>> load_sentencepiece_model(std::string_view model,
                                                                  std::string_view tokenizer_config_json,
                                                                  std::span<const TokenId> ends) {
  try {
    TokenizerParts parts = load(model, tokenizer_config_json);
    add_end_tokens(ends, parts);
    return make_tokenizer(std::move(parts));
  } catch (const LoadError& e) {
    return with_advice(e.error(), "The file is damaged or was edited: download it again",
                       "Another file of the model may do without it: a tokenizer.json, or a GGUF file");
  }
}

}  // namespace millrace::text
