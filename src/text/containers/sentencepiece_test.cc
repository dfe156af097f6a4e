#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <span>

#include "text/tokenizer.h"

// Little models, written by hand; the exactness of real ones is the oracle tests' affair.
namespace millrace::text {
namespace {

using Ids = std::vector<TokenId>;

std::string varint(std::uint64_t number) {
  std::string out;
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  return out + static_cast<char>(number);
}
std::string field(std::uint32_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string field(std::uint32_t number, std::uint64_t value) { return varint(number << 3) + varint(value); }

enum Type { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

std::string piece(std::string_view text, float score, Type type = kNormal) {
  std::string out = field(1, text) + varint(2 << 3 | 5);
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(std::bit_cast<std::uint32_t>(score) >> 8 * i));
  return field(1, out + field(3, type));
}

// <unk> 0, <s> 1, "\u2581" 2, a 3, b 4, ab 5, "\u2581ab" 6, "[x]" 7 (user defined).
std::string model(int kind, std::string_view normalizer = "") {
  return piece("<unk>", 0, kUnknown) + piece("<s>", 0, kControl) + piece("\xe2\x96\x81", -3) + piece("a", -4) +
         piece("b", -4) + piece("ab", -5) +
         piece(
             "\xe2\x96\x81"
             "ab",
             -6) +
         piece("[x]", 0, kUserDefined) + field(2, field(3, static_cast<std::uint64_t>(kind))) + field(3, normalizer);
}
constexpr int kUnigram = 1, kBpe = 2;

// The same and the 256 bytes, from 8.
std::string model_with_bytes(int kind) {
  std::string out = model(kind) + field(2, field(35, 1));
  for (int byte = 0; byte < 256; ++byte) out += piece(fmt::format("<0x{:02X}>", byte), 0, kByte);
  return out;
}

std::shared_ptr<const Tokenizer> load_proto(const std::string& file, std::string_view config = "") {
  return load_sentencepiece_model(file, config).or_throw();
}
std::string error_of(const std::string& file) {
  const auto result = load_sentencepiece_model(file, "");
  return result ? "" : result.error().message;
}

TEST(SentencePiece, TakesTheBestSegmentationAsAWhole) {
  EXPECT_EQ(load_proto(model(kUnigram))->encode("ab", false), (Ids{6}));
  EXPECT_EQ(load_proto(model(kUnigram))->encode("aab", false), (Ids{2, 3, 5}));
}

TEST(SentencePiece, MergesByScore) {
  EXPECT_EQ(load_proto(model(kBpe))->encode("ab", false), (Ids{6}));
  EXPECT_EQ(load_proto(model(kBpe))->encode("aab", false), (Ids{2, 3, 5}));
}

TEST(SentencePiece, NeverCutsWhatAUserDefined) {
  for (const int kind : {kUnigram, kBpe}) {
    EXPECT_EQ(load_proto(model(kind))->encode("a[x]ab", false), (Ids{2, 3, 7, 5}));
  }
}

TEST(SentencePiece, RemovesExtraSpacesUnlessToldNot) {
  EXPECT_EQ(load_proto(model(kBpe))->encode("  ab   ab ", false), (Ids{6, 6}));
  const std::string keeps = field(4, 0);
  EXPECT_EQ(load_proto(model(kBpe, keeps))->encode(" ab", false), (Ids{2, 6}));
  EXPECT_EQ(load_proto(model(kBpe, keeps + field(3, 0)))->encode("ab ", false), (Ids{5, 2}));
}

TEST(SentencePiece, TakesControlTokensOnlyFromTrustedText) {
  const auto tokenizer = load_proto(model(kBpe), R"({"add_bos_token": true})");
  EXPECT_EQ(tokenizer->encode("ab<s>ab", true), (Ids{1, 6, 1, 6}));
  const Ids untrusted = tokenizer->encode("<s>", false, false);
  EXPECT_EQ(std::ranges::count(untrusted, 1), 0);
}

TEST(SentencePiece, SaysWhereTokensCameFrom) {
  const std::vector<TextPiece> pieces = {{"ab  a\xc3\xa9", true}};
  const auto encoding = load_proto(model(kUnigram))->encode_with_spans(pieces, false);
  EXPECT_EQ(encoding.ids, (Ids{6, 2, 3, 0}));
  EXPECT_EQ(encoding.spans, (std::vector<TokenSpan>{{0, 2}, {2, 3}, {4, 5}, {5, 7}}));
}

TEST(SentencePiece, DecodesWithoutTheSpaceInFront) {
  const auto tokenizer = load_proto(model(kBpe));
  EXPECT_EQ(tokenizer->decode(Ids{1, 6, 6, 2, 3}, true), "ab ab a");
  EXPECT_EQ(tokenizer->decode(Ids{6, 0}, true), "ab \xe2\x81\x87 ");
}

TEST(SentencePiece, RefusesWhatItDoesNotDoByName) {
  EXPECT_NE(error_of(model(3)).find("word"), std::string::npos);
  EXPECT_NE(error_of(model(kBpe) + field(5, field(2, std::string(8, 'x')))).find("denormalizer_spec"),
            std::string::npos);
  EXPECT_NE(error_of(model(kBpe, field(2, "xx"))).find("precompiled_charsmap"), std::string::npos);
  EXPECT_NE(error_of(model(kBpe).substr(0, 20)).find("field"), std::string::npos);
  EXPECT_NE(error_of(std::string(1, '\x0c')).find("wire type"), std::string::npos);
}

// As SentencePiece has it, which knows nothing of tokenizer_config.json: added tokens are Transformers' affair.
TEST(SentencePiece, FallsBackToBytesThatTheConfigurationMakesSpecial) {
  for (const int kind : {kUnigram, kBpe}) {
    std::string config;
    for (int byte = 0; byte < 256; ++byte) {
      config +=
          fmt::format(R"({}"{}": {{"content": "<0x{:02X}>", "special": true}})", byte > 0 ? ", " : "", 8 + byte, byte);
    }
    config = R"({"added_tokens_decoder": {)" + config + "}}";
    EXPECT_EQ(load_proto(model_with_bytes(kind), config)->encode("\xc3\xa9", false), (Ids{2, 8 + 0xC3, 8 + 0xA9}))
        << kind;
  }
}

TEST(SentencePiece, KeepsAPieceOfOneCharacterThatTheConfigurationMakesSpecial) {
  for (const int kind : {kUnigram, kBpe}) {
    const auto tokenizer =
        load_proto(model(kind), R"({"added_tokens_decoder": {"3": {"content": "a", "special": true}}})");
    EXPECT_EQ(tokenizer->encode("a", false, false), (Ids{2, 3})) << kind;
  }
}

TEST(SentencePiece, NeverTakesAUsersTextForALongerPieceThatTheConfigurationMakesSpecial) {
  for (const int kind : {kUnigram, kBpe}) {
    const auto tokenizer =
        load_proto(model(kind), R"({"added_tokens_decoder": {"5": {"content": "ab", "special": true}}})");
    EXPECT_EQ(tokenizer->encode("aab", false, false), (Ids{2, 3, 3, 4})) << kind;
    EXPECT_EQ(tokenizer->encode("ab", false, false), (Ids{6})) << kind;
  }
}

}  // namespace
}  // namespace millrace::text
