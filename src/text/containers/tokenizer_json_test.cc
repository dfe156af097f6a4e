#include <fmt/format.h>
#include <gtest/gtest.h>

#include <mutex>

#include "base/log.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer.h"

// Little files, written by hand; the ids are those of the PyPI library tokenizers 0.23.3.
namespace millrace::text {
namespace {

using Ids = std::vector<TokenId>;

std::string file_of(std::string_view model, std::string_view added, std::string_view more = "") {
  return fmt::format(R"({{"added_tokens": [{}], "model": {}{}}})", added, model, more);
}
std::string special(std::string_view content, int id, std::string_view more = "") {
  return fmt::format(R"({{"id": {}, "content": "{}", "special": true, "normalized": false{}}})", id, content, more);
}

// <unk> 0, "\u2581" 1, then as told.
std::string unigram(std::string_view more_pieces = "") {
  return R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["<s>", -1], ["a", -2], ["b", -2], ["c", -2])" +
         std::string(more_pieces) + "]}";
}
std::string characters(std::string_view vocabulary) {
  return fmt::format(R"({{"type": "BPE", "vocab": {}, "merges": []}})", vocabulary);
}

// Byte-level BPE: every byte's id is the byte; "he" 256, "hey" 257.
std::string byte_level(std::string_view added = "") {
  std::string vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    const std::string spelling = spelling_of_bytes(std::string_view(&raw, 1));
    vocabulary += fmt::format(R"("{}{}": {}, )", spelling == "\"" || spelling == "\\" ? "\\" : "", spelling, byte);
  }
  return file_of(R"({"type": "BPE", "vocab": {)" + vocabulary + R"("he": 256, "hey": 257}, "merges": ["h e", "he y"]})",
                 added, R"(, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})");
}

// Characters with byte fallback: <unk> 0, the bytes 1 to 256, a 257, b 258, ab 259.
std::string with_bytes(std::string_view model_kind, bool special_bytes, std::string_view unk = "\"<unk>\"") {
  std::string bytes, added = special("<unk>", 0);
  const bool unigram = model_kind == "Unigram";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = fmt::format("<0x{:02X}>", byte);
    bytes += unigram ? fmt::format(R"(["{}", -9], )", text) : fmt::format(R"("{}": {}, )", text, byte + 1);
    if (special_bytes) added += ", " + special(text, byte + 1);
  }
  if (unigram) {
    return file_of(R"({"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": [["<unk>", 0], )" + bytes +
                       R"(["a", -1], ["b", -1], ["ab", -1]]})",
                   added);
  }
  return file_of(R"({"type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": )" + std::string(unk) +
                     R"(, "vocab": {"<unk>": 0, )" + bytes + R"("a": 257, "b": 258, "ab": 259}, "merges": ["a b"]})",
                 added);
}

std::shared_ptr<const Tokenizer> load(const std::string& file, std::string_view config = "") {
  return load_tokenizer_json(file, config).or_throw();
}
Ids ids(const std::string& file, std::string_view text, bool trusted = true, std::string_view config = "") {
  return load(file, config)->encode(text, false, trusted);
}
Error error_of(const std::string& file, std::string_view config = "") {
  const auto result = load_tokenizer_json(file, config);
  return result ? Error{} : result.error();
}

// Everything that is logged while it lives.
class Lines {
 public:
  Lines() {
    log::set_sink([this](log::Level, std::string_view line) {
      const std::scoped_lock lock(mutex_);
      lines_.emplace_back(line);
    });
  }
  ~Lines() { log::set_sink({}); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  std::vector<std::string> take() {
    const std::scoped_lock lock(mutex_);
    return std::move(lines_);
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(ByteFallback, WorksWhereTheByteTokensAreSpecial) {
  const Ids expected = {257, 1 + 0xC3, 1 + 0xA9, 258};
  for (const char* kind : {"BPE", "Unigram"}) {
    for (const bool special_bytes : {false, true}) {
      EXPECT_EQ(ids(with_bytes(kind, special_bytes),
                    "a\xc3\xa9"
                    "b"),
                expected)
          << kind << special_bytes;
      EXPECT_EQ(ids(with_bytes(kind, special_bytes),
                    "a\xc3\xa9"
                    "b",
                    false),
                expected)
          << kind << special_bytes;
    }
  }
  EXPECT_EQ(ids(with_bytes("BPE", true, "null"), "\xc3\xa9"), (Ids{1 + 0xC3, 1 + 0xA9}));
}

TEST(ByteFallback, HasTheSameSpansWhereTheByteTokensAreSpecial) {
  const TextPiece piece{"a\xc3\xa9", true};
  const auto spans = load(with_bytes("BPE", true))->encode_with_spans(std::span(&piece, 1), false).spans;
  EXPECT_EQ(spans, (std::vector<TokenSpan>{{0, 1}, {1, 3}, {1, 3}}));
}

TEST(ByteFallback, IsNotAByteTokenThatTheModelDoesNotHave) {
  const std::string file =
      file_of(R"({"type": "BPE", "byte_fallback": true, "unk_token": "?", "vocab": {"?": 0}, "merges": []})",
              special("<0x61>", 1));
  EXPECT_EQ(ids(file, "a"), (Ids{0}));
}

TEST(SpecialToken, OfOneByteStaysASymbolOfAUsersText) {
  for (const char* role : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    const std::string config = fmt::format(R"({{"{}": "!"}})", role);
    EXPECT_EQ(ids(byte_level(), "Hi!", false, config), (Ids{'H', 'i', '!'}));
    EXPECT_EQ(ids(byte_level(), "Hi!", true, config), (Ids{'H', 'i', '!'}));
  }
  EXPECT_EQ(ids(byte_level(special("!", '!')), "Hi!", false), (Ids{'H', 'i', '!'}));
}

// U+00E9 is how the byte E9 is spelled.
TEST(SpecialToken, ThatIsOneByteOfUtf8LeavesTheCharactersOfItWhole) {
  const std::string file = byte_level(special("\xc3\xa9", 0xE9));
  EXPECT_EQ(ids(file, "\xe9\xa6\x99", false), (Ids{0xE9, 0xA6, 0x99}));
  EXPECT_EQ(ids(file, "\xe9\xa6\x99\xc3\xa9", true), (Ids{0xE9, 0xA6, 0x99, 0xE9}));
  EXPECT_EQ(ids(file, "\xc3\xa9", false), (Ids{0xC3, 0xA9}));
}

TEST(SpecialToken, OfOneByteThatStandsInAWordIsASymbolOfTrustedTextToo) {
  const std::string file = byte_level(special("!", '!', R"(, "single_word": true)"));
  EXPECT_EQ(ids(file, "Hi!", true), (Ids{'H', 'i', '!'}));
}

TEST(SpecialToken, OfOneCharacterStaysASymbolOfAUsersText) {
  EXPECT_EQ(ids(file_of(unigram(), special("a", 2)), "ab", false), (Ids{2, 3}));
  EXPECT_EQ(ids(file_of(characters(R"({"a": 0, "b": 1})"), special("a", 0)), "ab", false), (Ids{0, 1}));
  const std::string words = R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}})";
  EXPECT_EQ(ids(file_of(words, special("a", 1)), "a", false), (Ids{1}));
  const std::string pieces = R"({"type": "WordPiece", "unk_token": "?", "vocab": {"?": 0, "a": 1, "##b": 2}})";
  EXPECT_EQ(ids(file_of(pieces, special("a", 1) + "," + special("##b", 2)), "ab", false), (Ids{1, 2}));
  const std::string affixes =
      R"({"type": "BPE", "continuing_subword_prefix": "#", "end_of_word_suffix": "</w>", "merges": [], "vocab": )"
      R"({"a": 0, "#b": 1, "#c</w>": 2, "d</w>": 3}})";
  const std::string all =
      special("a", 0) + "," + special("#b", 1) + "," + special("#c</w>", 2) + "," + special("d</w>", 3);
  EXPECT_EQ(ids(file_of(affixes, all), "abc", false), (Ids{0, 1, 2}));
  EXPECT_EQ(ids(file_of(affixes, all), "d", false), (Ids{3}));
}

TEST(SpecialToken, ThatIsLongerIsNeverAUsersText) {
  EXPECT_EQ(ids(byte_level(special("hey", 257)), "hey", true), (Ids{257}));
  EXPECT_EQ(ids(byte_level(special("hey", 257)), "hey hey", false), (Ids{256, 'y', ' ', 256, 'y'}));
  EXPECT_EQ(ids(file_of(unigram(R"(, ["ab", -1])"), special("ab", 5)), "ab", false), (Ids{2, 3}));
}

TEST(SpecialToken, ThatOthersAreMergedFromIsAStepOnTheWay) {
  EXPECT_EQ(ids(byte_level(special("he", 256)), "hey he", false), (Ids{257, ' ', 'h', 'e'}));
  const std::string again(100, 'h');  // goes through the heap
  EXPECT_EQ(ids(byte_level(special("he", 256)), again + "ey" + again + "e", false).back(), 'e');
}

TEST(AddedToken, HasTheIdOfTheVocabulary) {
  for (const std::string& added : {special("<unk>", 1831), special("<unk>", 0) + "," + special("<unk>", 1831)}) {
    EXPECT_EQ(ids(file_of(unigram(), added), "<unk>"), (Ids{0}));
  }
}

TEST(AddedToken, OrElseTheNextFreeOne) {
  struct Case {
    std::string added;
    Ids expected;  // of "<x><y>"
  };
  for (const Case& c : {Case{special("<x>", 5) + "," + special("<x>", 6) + "," + special("<y>", 7), {5, 6}},
                        Case{special("<x>", 2) + "," + special("<y>", 5), {5, 6}},
                        Case{special("<x>", 5) + "," + special("<y>", 5), {5, 6}},
                        Case{special("<x>", 20) + "," + special("<y>", 21), {5, 6}},
                        Case{special("<x>", 6) + "," + special("<y>", 5), {5, 6}}}) {
    const auto tokenizer = load(file_of(unigram(), c.added));
    EXPECT_EQ(tokenizer->encode("<x><y>", false), c.expected) << c.added;
    EXPECT_EQ(tokenizer->decode(c.expected, false), "<x> <y>");  // without a decoder they are words
    EXPECT_EQ(tokenizer->vocab_size(), 7);
  }
}

TEST(AddedToken, OfATokenThatIsThereTwiceIsTheLast) {
  const std::string twice = unigram(R"(, ["<s>", -1], ["<s>", -3])");
  for (const int id : {5, 6}) EXPECT_EQ(ids(file_of(twice, special("<s>", id)), "<s>"), (Ids{6}));
  EXPECT_EQ(ids(file_of(unigram(R"(, ["a", -9], ["a", -9])"), ""), "aab"), (Ids{6, 6, 3}));
}

TEST(AddedToken, FillsTheHolesOfAVocabulary) {
  EXPECT_EQ(ids(file_of(characters(R"({"a": 0, "b": 1, "\u2581": 2, "c": 7})"), special("<x>", 8)), "c<x>"),
            (Ids{7, 4}));
  // A hole that a token stands behind: both have the id, as in the library.
  const auto tokenizer = load(file_of(characters(R"({"a": 0, "b": 1, "c": 3})"), special("<x>", 8)));
  EXPECT_EQ(tokenizer->encode("c<x>", false), (Ids{3, 3}));
  EXPECT_EQ(tokenizer->decode(Ids{3}, false), "<x>");
  EXPECT_EQ(tokenizer->find("<x>"), 3);
}

// As in the library, though it is the text of no token.
TEST(AddedToken, ComesBehindAnEmptySpellingAtTheEndOfTheVocabulary) {
  const auto tokenizer = load(file_of(characters(R"({"a": 0, "b": 1, "": 2})"), special("<x>", 8)));
  EXPECT_EQ(tokenizer->encode("b<x>a", false), (Ids{1, 3, 0}));
  EXPECT_EQ(tokenizer->decode(Ids{3}, false), "<x>");
  EXPECT_EQ(tokenizer->vocab_size(), 4);
}

TEST(AddedToken, OfThreeHundredWithOneIdEachHasItsOwn) {
  std::string added;
  for (int i = 0; i < 300; ++i) added += (i > 0 ? "," : "") + special(fmt::format("<{}>", i), 5);
  const auto tokenizer = load(file_of(unigram(), added));
  for (int i = 0; i < 300; ++i) EXPECT_EQ(tokenizer->encode(fmt::format("<{}>", i), false), (Ids{5 + i}));
  EXPECT_EQ(tokenizer->vocab_size(), 305);
}

TEST(AddedToken, ThatIsThereTwiceHasTheFlagsOfTheLast) {
  const std::string later = special("<x>", 5) + "," + special("<x>", 6, R"(, "lstrip": true)");
  EXPECT_EQ(ids(file_of(unigram(), later), "a <x>"), (Ids{2, 5}));
}

TEST(AddedToken, WithAnotherIdIsLoggedOnceAFile) {
  Lines lines;
  load(file_of(unigram(), special("<unk>", 0) + "," + special("<x>", 5)));
  EXPECT_TRUE(lines.take().empty());
  load(file_of(unigram(), special("<unk>", 1831) + "," + special("<x>", 5) + "," + special("<y>", 5)));
  const auto logged = lines.take();
  ASSERT_EQ(logged.size(), 1u);
  for (const char* part : {"tokenizer.json", "/added_tokens/0", "<unk>", "1831", " 0", "1 more"}) {
    EXPECT_NE(logged[0].find(part), std::string::npos) << part << " in " << logged[0];
  }
}

TEST(TokenizerJson, NamesFilePointerAndRemedyOfWhatItRefuses) {
  struct Case {
    std::string file, config;
    std::vector<const char*> parts;
  };
  const std::string good = file_of(unigram(), "");
  for (const Case& c : {
           Case{file_of(characters(R"({"a/b~c": "x"})"), ""),
                "",
                {"tokenizer.json: /model/vocab/a~1b~0c", "integer", "\"x\""}},
           Case{file_of(characters(R"({"a": 0, "b": 0})"), ""), "", {"tokenizer.json: /model/vocab/b", "\"a\"", "0"}},
           Case{file_of(characters(R"({"a": 99999999})"), ""),
                "",
                {"tokenizer.json: /model/vocab/a", "4194303", "99999999"}},
           Case{file_of(R"({"type": "Bigram", "vocab": {}})", ""),
                "",
                {"tokenizer.json: /model/type", "Bigram", "Unigram"}},
           Case{file_of(R"({"type": "Unigram", "vocab": [["a", 0], 7]})", ""),
                "",
                {"tokenizer.json: /model/vocab/1", "7"}},
           Case{file_of(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]})", ""),
                "",
                {"tokenizer.json: /model/merges/0", "\"b\""}},
           Case{file_of(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [7]})", ""),
                "",
                {"tokenizer.json: /model/merges/0", "7"}},
           Case{file_of(unigram(), R"({"content": 5, "id": 5})"),
                "",
                {"tokenizer.json: /added_tokens/0/content", "a string", "5"}},
           Case{file_of(unigram(), R"({"content": "<x>"})"), "", {"tokenizer.json: /added_tokens/0/id", "missing"}},
           Case{file_of(unigram(), special(std::string(1025, 'x'), 5)),
                "",
                {"tokenizer.json: /added_tokens/0/content", "1025", "1024"}},
           Case{good, R"({"bos_token": 5})", {"tokenizer_config.json: /bos_token", "a string", "5"}},
       }) {
    const std::string message = error_of(c.file, c.config).message;
    ASSERT_FALSE(message.empty()) << c.parts[0];
    for (const char* part : c.parts) EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
    EXPECT_NE(message.find(". "), std::string::npos) << "says what to do: " << message;
  }
}

}  // namespace
}  // namespace millrace::text
