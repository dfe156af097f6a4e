#include "text/containers/tokenizer_json_writer.h"

#include <nlohmann/json.hpp>

#include "text/containers/gguf_pre_tokenizers.h"

namespace millrace::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int32_t kUnknown = 2, kControl = 3, kUserDefined = 4;  // tokenizer.ggml.token_type

Json added_tokens(const GgufVocabulary& vocabulary) {
  Json added = Json::array();
  for (std::size_t id = 0; id < vocabulary.token_types.size(); ++id) {
    const std::int32_t type = vocabulary.token_types[id];
    const bool special = type == kControl || type == kUnknown;
    if (!special && type != kUserDefined) continue;
    added.push_back({{"id", id},
                     {"content", vocabulary.tokens[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", special}});
  }
  return added;
}

Json bpe_model(const GgufVocabulary& vocabulary, bool ignore_merges) {
  Json vocab = Json::object();
  // Reached through the underlying vector: ordered_json's operator[] searches from the front, which is quadratic.
  auto& entries = vocab.get_ref<Json::object_t&>();
  entries.reserve(vocabulary.tokens.size());
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    static_cast<std::vector<Json::object_t::value_type>&>(entries).emplace_back(vocabulary.tokens[id], id);
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", ignore_merges},
          {"vocab", std::move(vocab)},
          {"merges", vocabulary.merges}};
}

// Puts BOS before a text, and before each of a pair.
Json bos_template(const std::string& bos, TokenId id) {
  const auto special = [&](int type) { return Json{{"SpecialToken", {{"id", bos}, {"type_id", type}}}}; };
  const auto part = [](const char* name, int type) { return Json{{"Sequence", {{"id", name}, {"type_id", type}}}}; };
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({special(0), part("A", 0)})},
          {"pair", Json::array({special(0), part("A", 0), special(1), part("B", 1)})},
          {"special_tokens", {{bos, {{"id", bos}, {"ids", {id}}, {"tokens", {bos}}}}}}};
}

}  // namespace

Result<TokenizerFiles> tokenizer_files(const GgufVocabulary& vocabulary, const std::string& chat_template) {
  const GgufPreTokenizer* known = find_gguf_pre_tokenizer(vocabulary.pre);
  if (vocabulary.model != "gpt2" || known == nullptr) {
    return make_error(ErrorCode::kUnsupported, "tokenizer",
                      "a tokenizer \"{}\" with pre-tokenizer \"{}\" cannot be written as "
                      "tokenizer.json; \"gpt2\" with one of {} can",
                      vocabulary.model, vocabulary.pre, gguf_pre_tokenizer_names());
  }
  const auto text_of = [&](std::optional<TokenId> id) -> Json {
    if (!id) return nullptr;
    return vocabulary.tokens[static_cast<std::size_t>(*id)];
  };
  const bool adds_bos = vocabulary.bos && vocabulary.add_bos.value_or(known->adds_bos);
  const Json file = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added_tokens(vocabulary)},
      {"normalizer", known->nfc ? Json{{"type", "NFC"}} : Json(nullptr)},
      {"pre_tokenizer", Json::parse(pre_tokenizer_json(*known))},
      {"post_processor", adds_bos ? bos_template(text_of(vocabulary.bos), *vocabulary.bos) : Json(nullptr)},
      {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
      {"model", bpe_model(vocabulary, known->ignore_merges)}};
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"add_prefix_space", false},
                 {"add_bos_token", adds_bos},
                 {"clean_up_tokenization_spaces", false},
                 {"bos_token", text_of(vocabulary.bos)},
                 {"eos_token", text_of(vocabulary.eos)},
                 {"unk_token", text_of(vocabulary.unk)},
                 {"pad_token", text_of(vocabulary.pad)}};
  if (!chat_template.empty()) config["chat_template"] = chat_template;
  const auto text = [](const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; };
  return TokenizerFiles{text(file), text(config)};
}

}  // namespace millrace::text
