#include "base/json.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Json, IsReadStrictly) {
  EXPECT_EQ((*parse_json(R"({"a": [1, 2.5, null, "\u00e9"]})"))["a"][3], "é");
  for (const char* wrong :
       {"", "{", "{} x", R"({"a":1,"a":2})", "[1e400]", "NaN", R"(["\ud800"])", "[\"\xff\"]", "// x\n1"}) {
    EXPECT_EQ(parse_json(wrong).error().code, ErrorCode::kInvalidArgument) << wrong;
  }
}

TEST(Json, NestsAsDeepAsTheLimitAndNoDeeper) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(JsonLimits::kDepth)));
  EXPECT_FALSE(parse_json(nested(JsonLimits::kDepth + 1)));
  EXPECT_FALSE(parse_json(nested(1'000'000)));
}

TEST(Json, RefusesObjectsOfManyKeys) {
  std::string text = "{";
  for (std::size_t i = 0; i <= JsonLimits::kKeys; ++i) text += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":0";
  EXPECT_FALSE(parse_json(text + "}"));
}

TEST(Json, WritesWhatIsNotUtf8WithoutThrowing) {
  EXPECT_EQ(json_string("a\xff"
                        "b\n"),
            "\"a\xef\xbf\xbd"
            "b\\n\"");
}

}  // namespace
}  // namespace millrace
