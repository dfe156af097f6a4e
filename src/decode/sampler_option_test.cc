#include "decode/sampler_option.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "decode/processor.h"

namespace millrace::decode {
namespace {

TEST(SamplerOptions, HaveNamesOfTheirOwnAndNeutralValuesThatAreInRange) {
  std::set<std::string> names, flags;
  ASSERT_GE(all_sampler_options().size(), 20u);
  for (const SamplerOption* option : all_sampler_options()) {
    const OptionSpec& spec = option->spec;
    EXPECT_TRUE(names.insert(std::string(spec.name)).second) << spec.name;
    EXPECT_TRUE(spec.alias.empty() || names.insert(std::string(spec.alias)).second) << spec.alias;
    EXPECT_TRUE(flags.insert(spec.flag_name()).second) << spec.flag_name();
    EXPECT_TRUE(spec.in_range(spec.neutral)) << spec.name;
    EXPECT_EQ(option->of(SamplingParams{}), spec.neutral) << spec.name;
    EXPECT_FALSE(spec.help.empty()) << spec.name;
  }
}

TEST(SamplerOptions, OutsideOfTheirRangeAreErrorsThatNameFieldValueAndLimit) {
  for (const SamplerOption* option : all_sampler_options()) {
    const OptionSpec& spec = option->spec;
    const double step = spec.kind == OptionSpec::Kind::kWhole ? 1.0 : 0.5;
    for (const double wrong : {spec.above_low ? spec.low : spec.low - step, spec.high + step}) {
      SamplingParams params;
      option->set(params, wrong);
      const auto valid = params.validate();
      if (option->of(params) != wrong) continue;  // an int cannot hold it
      ASSERT_FALSE(valid) << spec.name << " " << wrong;
      EXPECT_EQ(valid.error().param, spec.name);
      EXPECT_EQ(valid.error().message, fmt::format("{} is {}: must be {}", spec.name, wrong, spec.range()));
    }
    EXPECT_FALSE(spec.in_range(std::numeric_limits<double>::quiet_NaN())) << spec.name;
  }
}

// docs/decode.md shows each as `name` and its neutral value.
TEST(SamplerOptions, StandInTheDocumentation) {
  std::ifstream file(std::string(MILLRACE_TEST_DATA) + "/../../docs/decode.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(page.empty());
  for (const SamplerOption* option : all_sampler_options()) {
    const std::string row = fmt::format("`{}` {}", option->spec.name, option->of(SamplingParams{}));
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

TEST(SamplerOptions, AreWhatIsGivenElseTheDefaultElseNeutral) {
  const auto defaults = [](std::string_view name) -> std::optional<double> {
    if (name == "top_p" || name == "min_p") return 0.5;
    return std::nullopt;
  };
  OptionValues given;
  given.set("top_p", 0.25).set("mirostat_mode", 2.0);
  SamplingParams params;
  ASSERT_TRUE(set_sampler_options(params, given, defaults));
  EXPECT_EQ(params.top_p, 0.25);
  EXPECT_EQ(params.mirostat_mode, 2);
  EXPECT_EQ(params.min_p, 0.5);
  EXPECT_EQ(params.typical_p, 1.0);

  given.set("mirostat_mode", 3e9);  // an int cannot hold it
  const auto wrong = set_sampler_options(params, given, defaults);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "mirostat_mode is 3000000000: must be 0 (off), 1 or 2");
}

TEST(SamplerOptions, WithoutAMemberAreKeptByTheirNames) {
  const SamplerOption margin{.spec = {.name = "margin", .high = 9.0, .neutral = 2.5, .help = "A margin"}};
  SamplingParams params;
  EXPECT_EQ(margin.of(params), 2.5);
  margin.set(params, 4.0);
  EXPECT_EQ(margin.of(params), 4.0);
  margin.set(params, 5.0);
  EXPECT_EQ(margin.of(params), 5.0);
  EXPECT_TRUE(params.validate());
}

}  // namespace
}  // namespace millrace::decode
