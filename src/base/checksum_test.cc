#include "base/checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace millrace {
namespace {

TEST(Checksum, ChangesWithEveryBitLengthAndSeed) {
  const std::string text(300, 'a');
  std::set<std::uint64_t> seen = {checksum(text), checksum(text, 1)};
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char bit : {1, 2, 64}) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ bit);
      seen.insert(checksum(other));
    }
    seen.insert(checksum(text.substr(0, i)));
    seen.insert(checksum(std::string(i, '\0')));
  }
  EXPECT_EQ(seen.size(), 2 + 300 * 3 + 300 * 2 - 1);  // both empty strings are one
}

TEST(Checksum, IsTheSameEverywhere) {
  EXPECT_EQ(checksum("millrace"), checksum(std::string("millrace")));
  EXPECT_EQ(checksum("millrace"), 1115066422189812901u);
}

}  // namespace
}  // namespace millrace
