#include "chat/jinja/text.h"

#include <gtest/gtest.h>

#include "chat/jinja/text_ops.h"

namespace millrace::chat::jinja {
namespace {

std::string marked(const Text& text) {
  std::string out;
  text.for_each_run(0, text.size(), [&](std::string_view run, bool trusted) {
    out += trusted ? std::string(run) : "[" + std::string(run) + "]";
  });
  return out;
}

struct TextTest : testing::Test {
  Budget budget{TemplateLimits{}};
  Text mixed = concatenate(budget, Text("a\u00E9", true), Text("\u4E16z", false));
};

TEST_F(TextTest, CountsCodePoints) {
  EXPECT_EQ(mixed.length(), 4u);
  EXPECT_EQ(mixed.offset_of(2), 3u);
  EXPECT_EQ(mixed.offset_of(9), mixed.size());
}

TEST_F(TextTest, SlicesKeepTrust) {
  EXPECT_EQ(marked(slice(budget, mixed, 1, 3, 1)), "\u00E9[\u4E16]");
  EXPECT_EQ(marked(slice(budget, mixed, 3, -1, -1)), "[z\u4E16]\u00E9a");
}

TEST_F(TextTest, JoinsNeighboursOfEqualTrust) {
  EXPECT_EQ(concatenate(budget, Text("a", true), Text("b", true)).run_count(), 1u);
  EXPECT_EQ(mixed.run_count(), 2u);
}

TEST_F(TextTest, BuilderStopsAtItsLimit) {
  TextBuilder builder(budget, "string_bytes", 4);
  builder.append("abcd", true);
  EXPECT_THROW(builder.append("e", true), Failure);
}

TEST_F(TextTest, CaseMappingMayChangeTheLength) {
  EXPECT_EQ(marked(change_case(budget, Text("stra\u00DFe", false), Case::kUpper)), "[STRASSE]");
}

}  // namespace
}  // namespace millrace::chat::jinja
