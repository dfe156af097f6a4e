// The tokenizer of PLaMo 2 and 3, tokenizer.ggml.model = "plamo2".

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace millrace::text {
namespace {

using Ids = std::vector<TokenId>;
struct Piece {
  std::string text;
  float score;
  int type = 1;
};

constexpr TokenId kOp = 4, kByte = 5, kFirst = 261;  // the bytes are kByte to 260, the pieces kFirst and on

GgufVocabulary vocabulary(const std::vector<Piece>& pieces) {
  GgufVocabulary v;
  v.model = "plamo2";
  v.pre = "default";
  const auto add = [&](std::string text, float score, int type) {
    v.tokens.push_back(std::move(text));
    v.scores.push_back(score);
    v.token_types.push_back(type);
  };
  add("<|plamo:unk|>", 0, 2);
  for (const char* name : {"bos", "eos", "pad", "op"}) add(fmt::format("<|plamo:{}|>", name), 0, 3);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), 0, 6);
  for (const Piece& piece : pieces) add(piece.text, piece.score, piece.type);
  v.eot = kOp;
  return v;
}
std::shared_ptr<const Tokenizer> tokenizer(const std::vector<Piece>& pieces) {
  return load_gguf_tokenizer(vocabulary(pieces)).or_throw();
}
Ids encode(const std::vector<Piece>& pieces, std::string_view text) { return tokenizer(pieces)->encode(text, false); }
// The tokens of the text's bytes.
Ids bytes(std::string_view text) {
  Ids ids;
  for (const char byte : text) ids.push_back(kByte + static_cast<unsigned char>(byte));
  return ids;
}
std::string plamo_error(GgufVocabulary v) {
  const auto result = load_gguf_tokenizer(std::move(v));
  return result ? "" : result.error().message;
}

TEST(PlamoTokenizer, TakesTheTokensWhoseScoresSumHighest) {
  EXPECT_EQ(encode({{"a", -1}, {"b", -1}, {"ab", -3}}, "ab"), (Ids{kFirst, kFirst + 1}));
  EXPECT_EQ(encode({{"a", -1}, {"b", -1}, {"ab", -1.5f}}, "ab"), (Ids{kFirst + 2}));
  // -2 - 2 against -1 - 4: the longest token first is not best.
  EXPECT_EQ(encode({{"aaa", -1}, {"aa", -2}, {"a", -4}}, "aaaa"), (Ids{kFirst + 1, kFirst + 1}));
}

TEST(PlamoTokenizer, TakesTheLongestFirstTokenOfEqualSums) {
  EXPECT_EQ(encode({{"a", -1}, {"b", -1}, {"ab", -2}}, "ab"), (Ids{kFirst + 2}));
  const std::vector<Piece> pieces = {{"a", -1}, {"c", -1}, {"ab", -2}, {"bc", -2}};
  EXPECT_EQ(encode(pieces, "abc"), (Ids{kFirst + 2, kFirst + 1}));
  EXPECT_EQ(encode(pieces, "abcabc"), (Ids{kFirst + 2, kFirst + 1, kFirst + 2, kFirst + 1}));
  // Three of equal sums: "a" "abc", "aa" "bc", "aab" "c".
  EXPECT_EQ(encode({{"a", -1}, {"abc", -2}, {"aa", -1}, {"bc", -2}, {"aab", -2}, {"c", -1}}, "aabc"),
            (Ids{kFirst + 4, kFirst + 5}));
}

TEST(PlamoTokenizer, CountsScoresInTenThousandths) {
  // 0 + 0 against 1, although the sum of the two is lower.
  EXPECT_EQ(encode({{"a", -0.00004f}, {"b", -0.00004f}, {"ab", -0.00006f}}, "ab"), (Ids{kFirst, kFirst + 1}));
}

TEST(PlamoTokenizer, SpellsCharactersThatNoTokenHasInBytes) {
  EXPECT_EQ(encode({{"a", -1}}, "a\xc3\xa9"), (Ids{kFirst, kByte + 0xC3, kByte + 0xA9}));
  EXPECT_EQ(encode({}, "\n\xf0\x9f\x97\xbc"), bytes("\n\xf0\x9f\x97\xbc"));
  EXPECT_EQ(encode({}, ""), Ids{});
}

// A character in bytes costs 1,000, whatever their number.
TEST(PlamoTokenizer, PrefersBytesToTokensThatAreWorse) {
  const std::string e = "\xc3\xa9";
  EXPECT_EQ(encode({{e, -999.9f}}, e), (Ids{kFirst}));
  EXPECT_EQ(encode({{e, -1000.1f}}, e), bytes(e));
  EXPECT_EQ(encode({{"a", -1}, {"a" + e, -1001}}, "a" + e), (Ids{kFirst + 1}));
  EXPECT_EQ(encode({{"a", -1}, {"a" + e, -1001.5f}}, "a" + e), (Ids{kFirst, kByte + 0xC3, kByte + 0xA9}));
  EXPECT_EQ(encode({{"abc", -1999.9f}}, "abc"), (Ids{kFirst}));
  EXPECT_EQ(encode({{"abc", -2000}}, "abc"), bytes("abc"));  // of which it would be better than three times 1,000
}

TEST(PlamoTokenizer, RewritesNothing) {
  const std::vector<Piece> pieces = {{" a", -1}, {"a", -2}, {"\xe2\x96\x81", -1}};
  EXPECT_EQ(encode(pieces, " a  a"), (Ids{kFirst, kByte + ' ', kFirst}));
  EXPECT_EQ(encode(pieces,
                   "\xe2\x96\x81"
                   "a"),
            (Ids{kFirst + 2, kFirst + 1}));
  EXPECT_EQ(encode(pieces,
                   "\xef\xbb\xbf"
                   "a"),
            (Ids{kByte + 0xEF, kByte + 0xBB, kByte + 0xBF, kFirst + 1}));  // a BOM
}

TEST(PlamoTokenizer, FindsControlTokensInTrustedTextOnly) {
  const auto plain = tokenizer({{"a", -1}});
  EXPECT_EQ(plain->encode("<|plamo:op|>a", false), (Ids{kOp, kFirst}));
  Ids expected = bytes("<|pl");
  expected.push_back(kFirst);
  for (const TokenId id : bytes("mo:op|>")) expected.push_back(id);
  EXPECT_EQ(plain->encode("<|plamo:op|>", false, false), expected);
}

TEST(PlamoTokenizer, NeverWritesBytesOrUnusedTokensForTheirNames) {
  EXPECT_EQ(encode({}, "<0x41>"), bytes("<0x41>"));
  EXPECT_EQ(encode({{"[PAD1]", -1000, 5}}, "[PAD1]"), bytes("[PAD1]"));
}

TEST(PlamoTokenizer, DecodesTheBytesOfAllTokensAsOneText) {
  const auto plain = tokenizer({{"a", -1}, {" b", -1}});
  EXPECT_EQ(plain->decode(Ids{kFirst, kByte + 0xE3, kByte + 0x81, kByte + 0x82, kFirst + 1}, true), "a\xe3\x81\x82 b");
  EXPECT_EQ(plain->decode(Ids{kByte + 0xE3, kByte + 0x81, kFirst}, true),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(plain->decode(Ids{kByte + 0xE3, kByte + 0x81, kByte + 0x82, kByte + 0xFF}, true),
            "\xe3\x81\x82\xef\xbf\xbd");
  EXPECT_EQ(plain->decode(Ids{1, kFirst, 2}, true), "a");
  EXPECT_EQ(plain->decode(Ids{1, kFirst}, false), "<|plamo:bos|>a");
  EXPECT_EQ(plain->token_bytes(kByte + 0xE3), "\xe3");
}

TEST(PlamoTokenizer, PutsNothingAroundATextUnlessTheFileSaysSo) {
  GgufVocabulary v = vocabulary({{"a", -1}});
  const auto silent = load_gguf_tokenizer(v).or_throw();
  EXPECT_EQ(silent->encode("a", true), (Ids{kFirst}));
  EXPECT_EQ(silent->bos(), 1);
  EXPECT_EQ(std::vector(silent->end_of_generation().begin(), silent->end_of_generation().end()), (Ids{2, kOp}));
  v.add_bos = true;
  EXPECT_EQ(load_gguf_tokenizer(v).or_throw()->encode("a", true), (Ids{1, kFirst}));
}

TEST(PlamoTokenizer, GivesWholeCharactersAsSpans) {
  const auto found = tokenizer({{"a", -1}})->encode_with_spans(std::vector<TextPiece>{{"a\xc3\xa9", true}}, false);
  ASSERT_EQ(found.spans.size(), 3u);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(found.spans[i].begin, 1u);
    EXPECT_EQ(found.spans[i].end, 3u);
  }
}

TEST(PlamoTokenizer, NamesWhatAFileLacks) {
  GgufVocabulary v = vocabulary({});
  v.tokens[kByte + 0x41] = "A";
  EXPECT_TRUE(
      plamo_error(v).starts_with("tokenizer.ggml.tokens has no <0x41> of type byte; model \"plamo2\" needs one"));
  v = vocabulary({{"a", 3e5f}});
  EXPECT_TRUE(plamo_error(v).starts_with("tokenizer.ggml.scores[261] is 300000; the limit is 200000"));
  v.scores.clear();
  EXPECT_TRUE(plamo_error(v).starts_with("tokenizer.ggml.scores is missing; model \"plamo2\" needs it"));
}

// tests/golden/make_plamo2.py
TEST(PlamoTokenizer, GivesTheIdsOfLlamaCpp) {
  std::ifstream file(std::string(MILLRACE_TEST_DATA) + "/plamo2/llama_cpp.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  std::vector<Piece> pieces;
  for (const auto& piece : golden.at("pieces")) {
    pieces.push_back({piece.at(0).get<std::string>(), piece.at(1).get<float>(), piece.at(2).get<int>()});
  }
  const auto ours = tokenizer(pieces);
  ASSERT_GE(golden.at("cases").size(), 70u);
  for (const auto& one : golden.at("cases")) {
    const auto text = one.at(0).get<std::string>();
    EXPECT_EQ(ours->encode(text, false), one.at(1).get<Ids>()) << text;
    Detokenizer stream(ours, false);
    std::string streamed;
    for (const TokenId id : one.at(1)) streamed += stream.push(id);
    streamed += stream.finish();
    EXPECT_EQ(streamed, ours->decode(one.at(1).get<Ids>(), false)) << text;
  }
}

// The same vocabulary as a tokenizer.jsonl.
std::string jsonl(const GgufVocabulary& v) {
  constexpr const char* kTypes[] = {"", "NORMAL", "UNKNOWN", "CONTROL", "", "", "BYTE"};
  std::string lines;
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    const auto type = static_cast<std::size_t>(v.token_types[i]);
    lines += nlohmann::json{v.tokens[i], v.scores[i], kTypes[type], 0, 0, 0, 0}.dump() + "\n";
  }
  return lines;
}

TEST(PlamoTokenizer, ReadsLinesOfJsonAsItsOwnFilesHaveThem) {
  GgufVocabulary v = vocabulary({{"a", -1}, {"b", -1}, {"ab", -3}, {"\xe7\x8c\xab", -2}});
  v.token_types[kOp] = 1;  // such a name is one of a control token whatever its type
  const auto lines = load_plamo_jsonl(jsonl(v), "").or_throw();
  const auto gguf = tokenizer({{"a", -1}, {"b", -1}, {"ab", -3}, {"\xe7\x8c\xab", -2}});
  for (const char* text : {"ab", "<|plamo:op|>user\n\xe7\x8c\xab\xe3\x81\x82<|plamo:eos|>", ""}) {
    EXPECT_EQ(lines->encode(text, true), gguf->encode(text, true)) << text;
  }
  EXPECT_EQ(lines->bos(), 1);
  EXPECT_EQ(lines->eos(), 2);
  EXPECT_FALSE(lines->adds_bos());
  EXPECT_TRUE(lines->is_special(kOp));
  EXPECT_EQ(std::ranges::count(lines->end_of_generation(), kOp), 1);
  const auto framed = load_plamo_jsonl(jsonl(v), R"({"add_bos_token": true, "eos_token": "<|plamo:pad|>"})").or_throw();
  EXPECT_EQ(framed->encode("a", true), (Ids{1, kFirst}));
  EXPECT_EQ(framed->eos(), 3);
}

TEST(PlamoTokenizer, NamesTheLineThatIsWrong) {
  const auto outcome = [](std::string_view file) { return load_plamo_jsonl(file, "").error().message; };
  EXPECT_EQ(outcome("[\"a\", 0, \"NORMAL\"]\n\n[\"b\", 0]\n").find("tokenizer.jsonl, line 3"), 0u);
  EXPECT_EQ(outcome("[\"a\", \"0\", \"NORMAL\"]").find("tokenizer.jsonl, line 1: /1"), 0u);
  EXPECT_EQ(outcome("[\"a\", 0, ").find("tokenizer.jsonl, line 1"), 0u);
  EXPECT_NE(outcome("[\"a\", 0, \"NORMAL\"]").find("tokenizer.jsonl: "), std::string::npos);
}

}  // namespace
}  // namespace millrace::text
