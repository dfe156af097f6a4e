#include "grammar/json_schema/decimal.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::grammar::json_schema {
namespace {

Decimal of(const std::string& text) { return Decimal::of(nlohmann::ordered_json::parse(text)); }

TEST(Decimal, IsTheNumberHoweverItIsSpelled) {
  EXPECT_EQ(of("1"), of("1.0"));
  EXPECT_EQ(of("10"), of("1e1"));
  EXPECT_EQ(of("-0"), of("0.0"));
  EXPECT_EQ(of("0.00125").text(), "0.00125");
  EXPECT_EQ(of("-1.50").text(), "-1.5");
  EXPECT_EQ(of("1e21").text(), "1000000000000000000000");
  EXPECT_EQ(of("2.5e-10").text(), "0.00000000025");
  EXPECT_EQ(of("9223372036854775807").text(), "9223372036854775807");
  EXPECT_EQ(of("18446744073709551615").text(), "18446744073709551615");
}

TEST(Decimal, IsOrderedAsNumbersAre) {
  const std::vector<std::string> ascending = {"-100", "-12", "-11.5", "-1", "-0.1", "-0.05", "0",
                                              "0.05", "0.1", "0.15",  "1",  "9.99", "10",    "100"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(of(ascending[i]) < of(ascending[j]), i < j) << ascending[i] << " " << ascending[j];
    }
  }
}

TEST(Decimal, IsScaledOnlyWhereThatIsAnIntegerWithinTheLimit) {
  EXPECT_EQ(of("0.25").scaled(2, 1000), 25);
  EXPECT_EQ(of("0.25").scaled(3, 1000), 250);
  EXPECT_EQ(of("0.25").scaled(1, 1000), std::nullopt);
  EXPECT_EQ(of("12").scaled(2, 1000), std::nullopt);
}

}  // namespace
}  // namespace millrace::grammar::json_schema
