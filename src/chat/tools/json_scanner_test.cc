#include "chat/tools/json_scanner.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/json.h"

namespace millrace::chat::tools {
namespace {

TEST(JsonScanner, AgreesWithTheParserOnWhatIsJson) {
  const auto whole = [](std::string_view text) {
    JsonScanner scanner;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto step = scanner.push(text[i]);
      if (step == JsonScanner::Step::kBad) return false;
      if (step == JsonScanner::Step::kDone) return i + 1 == text.size();
      if (step == JsonScanner::Step::kDoneBefore) return i + 1 == text.size();
    }
    return false;
  };
  std::mt19937 random(3);
  const std::string_view letters = "{}[]\",:0123.-e+ntrufalse \\";
  const std::string seeds[] = {R"({"a":[1,2.5e-3,{"b":null}],"c":"\u00e9"})", "[true,false]", R"({"x":{}})", "[]"};
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = seeds[random() % 4];
    for (std::size_t change = random() % 3; change > 0; --change) {
      text[random() % text.size()] = letters[random() % letters.size()];
    }
    const bool is_json = Json::accept(text);
    accepted += is_json;
    if (text[0] == '{' || text[0] == '[') {
      EXPECT_EQ(whole(text), is_json) << text;
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace millrace::chat::tools
