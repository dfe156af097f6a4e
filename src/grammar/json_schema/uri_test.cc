#include "grammar/json_schema/uri.h"

#include <gtest/gtest.h>

namespace millrace::grammar::json_schema {
namespace {

TEST(Uri, ResolvesTheExamplesOfTheRfc) {  // RFC 3986, 5.4
  const std::string base = "http://a/b/c/d;p?q";
  EXPECT_EQ(resolve_uri(base, "g:h"), "g:h");
  EXPECT_EQ(resolve_uri(base, "g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(base, "./g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(base, "g/"), "http://a/b/c/g/");
  EXPECT_EQ(resolve_uri(base, "/g"), "http://a/g");
  EXPECT_EQ(resolve_uri(base, "//g"), "http://g");
  EXPECT_EQ(resolve_uri(base, ""), base);
  EXPECT_EQ(resolve_uri(base, ".."), "http://a/b/");
  EXPECT_EQ(resolve_uri(base, "../g"), "http://a/b/g");
  EXPECT_EQ(resolve_uri(base, "../../../g"), "http://a/g");
  EXPECT_EQ(resolve_uri(base, "./../g"), "http://a/b/g");
  EXPECT_EQ(resolve_uri("", "item.json"), "item.json");
  EXPECT_EQ(resolve_uri("urn:example:root", "urn:example:other"), "urn:example:other");
  EXPECT_EQ(resolve_uri("http://host", "x"), "http://host/x");
}

TEST(Uri, IsSplitAtItsFragment) {
  EXPECT_EQ(split_fragment("a.json#/b"), std::pair(std::string_view("a.json"), std::string_view("/b")));
  EXPECT_EQ(split_fragment("a.json"), std::pair(std::string_view("a.json"), std::string_view()));
}

TEST(Uri, DecodesPercentSigns) {
  EXPECT_EQ(percent_decoded("a%25b%2Fc"), "a%b/c");
  EXPECT_EQ(percent_decoded("100%"), "100%");
  EXPECT_EQ(percent_decoded("%zz%4"), "%zz%4");
}

}  // namespace
}  // namespace millrace::grammar::json_schema
