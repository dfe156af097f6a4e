#include "text/normalizer.h"

#include <gtest/gtest.h>

#include "text/containers/tokenizer_components.h"

namespace millrace::text {
namespace {

std::string normalize(std::string_view json, std::string_view text) {
  TokenizerParts parts;
  read_own_normalizer(json, parts);
  return normalized(parts.normalizers, text);
}

TEST(Normalizer, ComposesAndDecomposes) {
  EXPECT_EQ(normalize(R"({"type": "NFC"})", "e\xcc\x81"), "\xc3\xa9");
  EXPECT_EQ(normalize(R"({"type": "NFD"})", "\xc3\xa9"), "e\xcc\x81");
  EXPECT_EQ(normalize(R"({"type": "NFKC"})", "\xef\xac\x81"), "fi");
  EXPECT_EQ(normalize(R"({"type": "NFKD"})", "\xef\xac\x81\xc3\xa9"), "fie\xcc\x81");
}

TEST(Normalizer, OrdersMarksByTheirClass) {
  EXPECT_EQ(normalize(R"({"type": "NFD"})", "a\xcc\x81\xcc\xa3"), "a\xcc\xa3\xcc\x81");
}

TEST(Normalizer, LowersAndStrips) {
  EXPECT_EQ(normalize(R"({"type": "Lowercase"})", "AB\xc3\x89\xc4\xb0"), "ab\xc3\xa9i\xcc\x87");
  EXPECT_EQ(normalize(R"({"type": "Strip", "strip_left": true, "strip_right": false})", " \n a "), "a ");
  EXPECT_EQ(normalize(R"({"type": "StripAccents"})", "e\xcc\x81"), "e");
}

TEST(Normalizer, DoesWhatBertDid) {
  EXPECT_EQ(normalize(R"({"type": "BertNormalizer"})", "H\xc3\xa9\x01\tX\xe4\xbd\xa0"), "he x \xe4\xbd\xa0 ");
  EXPECT_EQ(normalize(R"({"type": "BertNormalizer", "lowercase": false})", "H\xc3\xa9"), "H\xc3\xa9");
}

TEST(Normalizer, ReplacesWhatAnExpressionFinds) {
  EXPECT_EQ(normalize(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "_"})", "a b  c   "), "a b_c_");
}

// Trust goes with the characters that a text was made of.
TEST(Normalizer, KeepsWhatIsTrusted) {
  TokenizerParts parts;
  read_own_normalizer(R"({"type": "NFC"})", parts);
  const std::vector<TextPiece> pieces = {{"ae", true}, {"\xcc\x81z", false}};
  MarkedText text(pieces);
  parts.normalizers.front()->apply(text);
  EXPECT_EQ(text.text(), "a\xc3\xa9z");
  EXPECT_TRUE(text.trusted(0, 1));
  EXPECT_FALSE(text.trusted(3, 4));
}

}  // namespace
}  // namespace millrace::text
