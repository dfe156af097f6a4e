#include "grammar/json_schema/testing/schema_texts.h"

namespace millrace::grammar::json_schema {
namespace {

void expect_format(const std::string& format, const std::vector<std::string>& fitting,
                   const std::vector<std::string>& others) {
  const SchemaTexts texts(R"({"type": "string", "format": ")" + format + "\"}");
  ASSERT_EQ(texts.error().message, "") << format;
  for (const std::string& text : fitting) EXPECT_TRUE(texts.fits("\"" + text + "\"")) << format << ": " << text;
  for (const std::string& text : others) EXPECT_FALSE(texts.fits("\"" + text + "\"")) << format << ": " << text;
}

TEST(Formats, KnowTheCalendar) {
  expect_format("date", {"2024-02-29", "2000-02-29", "1963-06-19", "2023-12-31"},
                {"2023-02-29", "1900-02-29", "2023-04-31", "2023-13-01", "2023-1-01", "0000-01-01", "20230101"});
  expect_format("time", {"08:30:06Z", "23:59:60Z", "08:30:06.283185+00:20"},
                {"24:00:00Z", "08:30:06", "08:30:60Z", "08:60:06Z", "08:30:06-24:00"});
  expect_format("date-time", {"1963-06-19T08:30:06.283185Z", "1963-06-19t08:30:06-08:00"},
                {"1990-02-31T15:59:59Z", "1963-06-19 08:30:06Z", "1963-06-19T08:30:06"});
  expect_format("duration", {"P4DT12H30M5S", "P1Y2M3D", "PT36H", "P4W", "PT1M2S"},
                {"P", "PT", "P1Y2D", "PT1H2S", "P1W2D", "4D"});
}

TEST(Formats, KnowHosts) {
  expect_format("hostname", {"www.example.com", "a", "1host", "a-b.c"},
                {"-a", "a-", "a..b", "a.b.", "a_b", "xn--x", ""});
  expect_format("email", {"joe.bloggs@example.com", "te~st@a"}, {"2962", ".a@b", "a..b@c", "a@-b", "a@"});
  expect_format("ipv4", {"192.168.0.1", "0.0.0.0", "255.255.255.255"}, {"256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4.5"});
  expect_format("ipv6", {"::1", "::", "1:2:3:4:5:6:7:8", "1::8", "::ffff:192.168.0.1", "1:2:3:4:5:6:7::", "fe80::a:b"},
                {"12345::", "1:2:3:4:5:6:7", "1::2::3", ":1", "::ffff:256.0.0.1", "1:2:3:4:5:6:7:8:9"});
}

TEST(Formats, KnowAddresses) {
  expect_format("uri", {"http://foo.bar/?baz=qux#quux", "urn:oasis:names", "mailto:a@b", "http://[::1]:80/a"},
                {"//foo.bar", "foo", "http:// a", "http://a/%zz", ":// a"});
  expect_format("uri-reference", {"/abc", "abc?d#e", "", "//host/x", "a/b:c"}, {"1:a", "\\\\\\\\x", "a b"});
  expect_format("uuid", {"2EB8AA08-aa98-11ea-b4aa-73b441d16380"}, {"2eb8aa08-aa98-11ea-b4aa-73b441d1638", "x"});
  expect_format("json-pointer", {"", "/foo/0", "/a~1b~0"}, {"a", "/~2", "/~"});
  expect_format("relative-json-pointer", {"0", "1/a", "0#"}, {"/a", "01", "-1"});
  expect_format("uri-template", {"http://x/{term:1}/{+a,b*}", "{v}"}, {"{", "{}", "{a,}", "a b"});
  expect_format("iri", {"http://ƒøø.ßår/?∂éœ"}, {"//ƒ", "a"});
}

TEST(Formats, AreRemarksWhereTheyAreNotKnown) { expect_format("colour", {"anything"}, {}); }

}  // namespace
}  // namespace millrace::grammar::json_schema
