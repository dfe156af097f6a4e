#include "text/byte_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace millrace::text {
namespace {

ByteTrie trie_of(std::initializer_list<std::string_view> keys) {
  StringTable table;
  for (const auto key : keys) table.push_back(key);
  return ByteTrie(table);
}

TEST(ByteTrie, FindsItsStringsAndNothingElse) {
  const ByteTrie trie = trie_of({"ab", "", "abc", "b", std::string_view("\0\xff", 2), "ab"});
  EXPECT_EQ(trie.find("ab"), 5);  // the last of two equal ones
  EXPECT_EQ(trie.find("abc"), 2);
  EXPECT_EQ(trie.find("b"), 3);
  EXPECT_EQ(trie.find(std::string_view("\0\xff", 2)), 4);
  for (const char* absent : {"", "a", "c", "abcd", "ba"}) EXPECT_EQ(trie.find(absent), -1) << absent;
  EXPECT_EQ(trie.longest_prefix("abx"), 2u);
  EXPECT_EQ(trie.longest_prefix("ax"), 0u);
  EXPECT_EQ(ByteTrie().find("a"), -1);
}

TEST(ByteTrie, HoldsManyStringsOfFewBytes) {
  std::mt19937 random(1);
  for (const unsigned alphabet : {2u, 5u, 256u}) {
    StringTable table;
    std::map<std::string, TokenId> expected;
    for (TokenId id = 0; id < 5000; ++id) {
      std::string key;
      for (std::size_t n = random() % 9; n > 0; --n) key.push_back(static_cast<char>(random() % alphabet * 101));
      table.push_back(key);
      if (!key.empty()) expected[key] = id;
    }
    const ByteTrie trie(table);
    for (const auto& [key, id] : expected) ASSERT_EQ(trie.find(key), id);
    for (int i = 0; i < 5000; ++i) {
      std::string key;
      for (std::size_t n = random() % 9; n > 0; --n) key.push_back(static_cast<char>(random() % alphabet * 101));
      ASSERT_EQ(trie.find(key), expected.contains(key) ? expected[key] : -1);
    }
  }
}

}  // namespace
}  // namespace millrace::text
