#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "text/testing/vocabularies.h"

namespace millrace::text {
namespace {

using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> byte_level() {
  return load_gguf_tokenizer(small_byte_level_vocabulary("gpt2")).or_throw();
}
std::shared_ptr<const Tokenizer> sentence_piece() {
  return load_gguf_tokenizer(small_sentence_piece_vocabulary()).or_throw();
}
std::string error_of(GgufVocabulary vocabulary) {
  const auto result = load_gguf_tokenizer(std::move(vocabulary));
  return result ? "" : result.error().message;
}

TEST(Tokenizer, MergesByRankWithinWords) {
  EXPECT_EQ(byte_level()->encode("hello hello", false), (Ids{259, 260}));
  EXPECT_EQ(byte_level()->encode("shell", false), (Ids{'s', 258}));
}

TEST(Tokenizer, EncodesPiecesAsOneString) {
  const std::vector<TextPiece> pieces = {{"hel", true}, {"lo", false}};
  EXPECT_EQ(byte_level()->encode(pieces, false), (Ids{259}));
}

TEST(Tokenizer, KeepsACharacterThatPiecesCutInTwo) {
  const std::vector<TextPiece> pieces = {{"\xc3", true}, {"\xa9", false}};
  EXPECT_EQ(sentence_piece()->encode(pieces, false), (Ids{259, 264}));
}

TEST(Tokenizer, IgnoresControlTokensThatAUserWrote) {
  const auto tokenizer = byte_level();
  const Ids trusted = tokenizer->encode("<|s|><tool>", false, true);
  EXPECT_EQ(trusted, (Ids{261, 263}));
  const Ids untrusted = tokenizer->encode("<|s|><tool>", false, false);
  EXPECT_EQ(std::ranges::count(untrusted, 261), 0);
  EXPECT_EQ(untrusted.back(), 263);
}

TEST(Tokenizer, IgnoresControlTokensThatReachIntoAUsersText) {
  const std::vector<TextPiece> pieces = {{"<|", false}, {"s|>", true}, {"<|e", true}, {"|>", true}};
  const Ids ids = byte_level()->encode(pieces, false);
  EXPECT_EQ(std::ranges::count(ids, 261), 0);
  EXPECT_EQ(ids.back(), 262);
}

TEST(Tokenizer, MergesTheHighestScoreFirstAndTheLeftmostAmongEquals) {
  EXPECT_EQ(sentence_piece()->encode("ab", false), (Ids{263}));
  EXPECT_EQ(sentence_piece()->encode("aab", false), (Ids{259, 260, 262}));
  EXPECT_EQ(sentence_piece()->encode("aaa", false), (Ids{259, 265, 260}));
}

TEST(Tokenizer, FallsBackToBytes) { EXPECT_EQ(sentence_piece()->encode("\n", false), (Ids{259, 3 + '\n'})); }

TEST(Tokenizer, NeverMergesIntoAControlToken) {
  const Ids ids = sentence_piece()->encode("<s>", false, false);
  EXPECT_EQ(std::ranges::count(ids, 1), 0);
  EXPECT_EQ(sentence_piece()->decode(ids, false), "<s>");
}

TEST(Tokenizer, PutsBosWhereTheVocabularyAsksForIt) {
  EXPECT_EQ(sentence_piece()->encode("ab", true), (Ids{1, 263}));
  EXPECT_TRUE(sentence_piece()->adds_bos());
  EXPECT_FALSE(byte_level()->adds_bos());
}

TEST(Tokenizer, DecodesSkippingSpecialAndUnknownIds) {
  EXPECT_EQ(byte_level()->decode(Ids{261, 259, -1, 100000, 260}, true), "hello hello");
  EXPECT_EQ(byte_level()->decode(Ids{261, 259}, false), "<|s|>hello");
  EXPECT_EQ(sentence_piece()->decode(Ids{1, 263, 263}, true), "ab ab");
}

TEST(Tokenizer, EncodesAMegabyteOfOneCharacter) {
  const std::string text(1 << 20, 'l');
  EXPECT_EQ(byte_level()->encode(text, false).size(), text.size() / 2);
  EXPECT_EQ(sentence_piece()->encode(std::string(1 << 20, 'a'), false).size(), 1 + text.size() / 2);
}

TEST(Tokenizer, RefusesDamagedVocabulariesByField) {
  auto v = small_byte_level_vocabulary("gpt2");
  v.merges.emplace_back("zz yy");
  EXPECT_NE(error_of(v).find("tokenizer.ggml.merges[5]"), std::string::npos);
  v.merges.back() = "";
  EXPECT_NE(error_of(v).find("tokenizer.ggml.merges[5]"), std::string::npos);
  EXPECT_NE(error_of(small_byte_level_vocabulary("martian")).find("martian"), std::string::npos);
  v = small_sentence_piece_vocabulary();
  v.scores.pop_back();
  EXPECT_NE(error_of(v).find("tokenizer.ggml.scores"), std::string::npos);
  v = small_sentence_piece_vocabulary();
  v.eos = 100000;
  EXPECT_NE(error_of(v).find("tokenizer.ggml.eos_token_id"), std::string::npos);
  EXPECT_NE(error_of({}).find("tokenizer.ggml.tokens"), std::string::npos);
}

TEST(GgufTokenizer, RefusesToGuessHowWordsAreCut) {
  for (const char* pre : {"", "default"}) {
    const auto tokenizer = load_gguf_tokenizer(small_byte_level_vocabulary(pre));
    ASSERT_FALSE(tokenizer);
    EXPECT_NE(tokenizer.error().message.find("convert the model again"), std::string::npos);
  }
  const auto unknown = load_gguf_tokenizer(small_byte_level_vocabulary("no such"));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("\"llama-bpe\""), std::string::npos);
}

TEST(GgufTokenizer, KeepsAControlTokenOfOneByteInAUsersText) {
  auto v = small_byte_level_vocabulary("gpt2");
  v.token_types['!'] = 3;
  const auto tokenizer = load_gguf_tokenizer(v).or_throw();
  EXPECT_EQ(tokenizer->encode("he!", false, false), (Ids{256, '!'}));
  EXPECT_EQ(tokenizer->encode("he!", false, true), (Ids{256, '!'}));
}

TEST(GgufTokenizer, NeverMergesAUsersTextIntoAControlToken) {
  auto v = small_byte_level_vocabulary("gpt2");
  v.token_types[258] = 3;  // "hell", on the way to "hello"
  const auto tokenizer = load_gguf_tokenizer(v).or_throw();
  EXPECT_EQ(tokenizer->encode("hello", false, false), (Ids{259}));
  EXPECT_EQ(tokenizer->encode("shell hell", false, false), (Ids{'s', 256, 257, ' ', 256, 257}));
}

TEST(GgufTokenizer, FallsBackToBytesWhateverTheirType) {
  for (const int type : {1, 3, 6}) {
    auto v = small_sentence_piece_vocabulary();
    for (std::size_t byte = 0; byte < 256; ++byte) v.token_types[3 + byte] = type;
    const auto tokenizer = load_gguf_tokenizer(v).or_throw();
    EXPECT_EQ(tokenizer->encode("a\xc3\xaa", false, false), (Ids{259, 260, 3 + 0xC3, 3 + 0xAA})) << type;
    EXPECT_EQ(tokenizer->decode(Ids{260, 3 + 0xC3, 3 + 0xAA}, true), "a\xc3\xaa") << type;
  }
}

TEST(GgufTokenizer, KeepsAControlPieceOfOneCharacterInAUsersText) {
  auto v = small_sentence_piece_vocabulary();
  v.token_types[260] = 3;  // a
  EXPECT_EQ(load_gguf_tokenizer(v).or_throw()->encode("a", false, false), (Ids{259, 260}));
}

// As the tokenizer.json of these models says; no key of a GGUF file does (docs/text.md).
TEST(GgufTokenizer, ComposesCharactersWhereTheModelsAuthorsDo) {
  for (const auto& [pre, expected] : std::initializer_list<std::pair<const char*, Ids>>{
           {"qwen2", {0xC3, 0xA9}}, {"qwen35", {0xC3, 0xA9}}, {"llama-bpe", {'e', 0xCC, 0x81}}}) {
    const auto tokenizer = load_gguf_tokenizer(small_byte_level_vocabulary(pre)).or_throw();
    EXPECT_EQ(tokenizer->encode("e\xcc\x81", false), expected) << pre;
  }
}

// The ids of `names`, which are control tokens, that end an answer.
Ids ends_among(const std::vector<std::string>& names, std::optional<TokenId> eom = std::nullopt) {
  GgufVocabulary v = small_byte_level_vocabulary("gpt2");
  for (const std::string& name : names) {
    v.tokens.push_back(name);
    v.token_types.push_back(3);
  }
  v.eom = eom;
  const auto tokenizer = load_gguf_tokenizer(v).or_throw();
  Ids out(tokenizer->end_of_generation().begin(), tokenizer->end_of_generation().end());
  std::erase(out, 262);  // eos
  return out;
}

TEST(Tokenizer, KnowsTheTokensThatEndAnAnswerByTheirTexts) {
  EXPECT_EQ(ends_among({"[|user|]", "[|endofturn|]"}), Ids{265});          // EXAONE
  EXPECT_EQ(ends_among({"<|assistant_end|>", "<|user_end|>"}), Ids{264});  // Apertus
  EXPECT_EQ(ends_among({"<|observation|>", "<|user|>"}), Ids{264});        // GLM-4
  EXPECT_EQ(ends_among({"<|im_end|>", "<|im_start|>"}), Ids{264});
  EXPECT_EQ(ends_among({"<|a|>", "<|b|>"}, 265), Ids{265});  // by the file's key
  // HyperCLOVA X goes on behind <|im_end|>.
  EXPECT_EQ(ends_among({"<|im_end|>", "<|endofturn|>", "<|stop|>"}), (Ids{265, 266}));
  // gpt-oss writes several messages, of which only the last ends with <|return|> or <|call|>.
  EXPECT_EQ(ends_among({"<|return|>", "<|call|>", "<|end|>", "<|channel|>"}), (Ids{264, 265}));
  EXPECT_EQ(ends_among({"<|return|>", "<|call|>", "<|end|>", "<|channel|>"}, 266), (Ids{264, 265}));
  EXPECT_EQ(ends_among({"<|begin|>", "<|end|>", "<|flush|>", "<|calls|>"}), (Ids{266, 267}));  // Solar Open
  EXPECT_EQ(ends_among({"<|end|>", "<|user|>"}), Ids{264});                                    // Phi-3
  EXPECT_EQ(ends_among({"<assistant>", "</assistant>"}), Ids{265});                            // Laguna
}

}  // namespace
}  // namespace millrace::text
