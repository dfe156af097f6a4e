#include "base/strict_json.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

TEST(StrictJson, KeepsWhatIsStrictAlready) {
  for (const std::string text :
       {R"({"a": [1, -2, 0.5, 1e30, -1E-400], "b": "NaN Infinity -Infinity 1e400", "c": null})",
        R"(["\ud83d\ude00", "\\ud800", "\"NaN\"", "\u0041\n"])", R"([18446744073709551615, -9223372036854775808])",
        R"([])", R"("")", R"(0)"}) {
    EXPECT_EQ(strict_json(text), text);
  }
}

TEST(StrictJson, NamesFloatsThatJsonHasNoNumberFor) {
  EXPECT_EQ(strict_json("[NaN,Infinity,-Infinity]"),
            R"([{"__float__":"NaN"},{"__float__":"Infinity"},{"__float__":"-Infinity"}])");
  EXPECT_EQ(strict_json(R"({"a":1e400,"b":-1.5E+999})"),
            R"({"a":{"__float__":"Infinity"},"b":{"__float__":"-Infinity"}})");
}

TEST(StrictJson, IntegersOutsideOf64BitsAreFloats) {
  EXPECT_EQ(strict_json("[1000000000000000019884624838656, 18446744073709551616, -9223372036854775809]"),
            "[1000000000000000019884624838656.0, 18446744073709551616.0, -9223372036854775809.0]");
}

TEST(StrictJson, TenMillionDigitsOverflow) {
  EXPECT_EQ(strict_json(std::string().append(10'000'000, '9')), R"({"__float__":"Infinity"})");
  const std::string fraction = std::string("0.").append(10'000'000, '3');
  EXPECT_EQ(strict_json(fraction), fraction);
}

TEST(StrictJson, LoneSurrogatesBecomeTheReplacementCharacter) {
  EXPECT_EQ(strict_json(R"(["\ud800", "\udc00x", "\ud800\ud800", "\uD83D\uDE00\uDE00"])"),
            R"(["\ufffd", "\ufffdx", "\ufffd\ufffd", "\uD83D\uDE00\ufffd"])");
}

TEST(StrictJson, DropsAByteOrderMarkInFrontAlone) {
  EXPECT_EQ(strict_json("\xEF\xBB\xBF{}"), "{}");
  EXPECT_EQ(strict_json("{}\xEF\xBB\xBF"), "{}\xEF\xBB\xBF");
}

TEST(StrictJson, MakesNothingValidThatPythonRefuses) {
  for (const std::string text :
       {"-", "--1", "1e", "01e400", "1.e400", "1e400.5", "\"\\ud8", "\"\\", "\"abc", "nan", "Inf", "{\"a\":}"}) {
    EXPECT_EQ(strict_json(text), text);
  }
  EXPECT_EQ(strict_json(std::string(500, '0')), std::string(500, '0'));
  EXPECT_EQ(strict_json("+1e400"), R"(+{"__float__":"Infinity"})");  // no more JSON than before
  EXPECT_EQ(strict_json("NaNx"), R"({"__float__":"NaN"}x)");
}

}  // namespace
}  // namespace millrace
