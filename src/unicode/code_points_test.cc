#include "unicode/code_points.h"

#include <gtest/gtest.h>

namespace millrace::unicode {
namespace {

TEST(Unicode, ReplacesEveryMaximalInvalidSubpart) {
  EXPECT_EQ(replace_invalid_utf8("a\xff\xfe z"), "a\xef\xbf\xbd\xef\xbf\xbd z");
  EXPECT_EQ(replace_invalid_utf8("\xe2\x82"), "\xef\xbf\xbd");                              // cut character: one
  EXPECT_EQ(replace_invalid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate: three
  EXPECT_EQ(replace_invalid_utf8("\xf0\x9f\x98\x41"), "\xef\xbf\xbd\x41");
  EXPECT_EQ(replace_invalid_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");  // overlong
}

TEST(Unicode, AcceptsTheBordersOfUtf8) {
  EXPECT_TRUE(is_valid_utf8("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
  EXPECT_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));
  EXPECT_FALSE(is_valid_utf8("12345678\x80"));
}

TEST(Unicode, DecodesWhatItEncodes) {
  for (const char32_t c : {U'a', U'\u07ff', U'\u0800', U'\uffff', U'\U00010000', U'\U0010ffff'}) {
    std::string text;
    append_utf8(text, c);
    EXPECT_EQ(code_point_at(text, 0).value, c);
    EXPECT_EQ(code_point_at(text, 0).size, text.size());
    EXPECT_EQ(previous_start(text, text.size()), 0u);
  }
}

TEST(Unicode, KnowsTheClasses) {
  EXPECT_TRUE(unicode_classes(U'\u00e9') & kLetter);
  EXPECT_TRUE(unicode_classes(U'\u4f60') & kLetter);
  EXPECT_TRUE(unicode_classes(U'\u0663') & kNumber);
  EXPECT_TRUE(unicode_classes(U'\u2028') & kSpace);
  EXPECT_FALSE(unicode_classes(U'\u180e') & kSpace);
  EXPECT_TRUE(unicode_classes(U'\u00a1') & kBertPunctuation);
  EXPECT_TRUE(unicode_classes(U'$') & kBertPunctuation);
  EXPECT_EQ(unicode_classes(U'\U0010ffff'), 0);
}

}  // namespace
}  // namespace millrace::unicode
