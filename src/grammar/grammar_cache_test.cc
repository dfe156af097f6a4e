#include "grammar/grammar_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "grammar/matcher.h"
#include "grammar/testing/grammars.h"
#include "text/testing/vocabularies.h"

namespace millrace::grammar {
namespace {

std::shared_ptr<const text::Tokenizer> tokenizer() {
  return text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt-2")).or_throw();
}

GrammarCache::Build literal(const std::string& text, int* built = nullptr) {
  return [text, built](WorkMeter&) -> Result<Grammar> {
    if (built != nullptr) ++*built;
    Grammar g;
    g.set_root(g.bytes(text));
    return g;
  };
}

TEST(GrammarCache, MakesAGrammarOnce) {
  GrammarCache cache(tokenizer());
  int built = 0;
  const auto first = cache.get("a", 0, literal("hello", &built)).or_throw();
  EXPECT_EQ(cache.get("a", 0, literal("hello", &built)).or_throw(), first);
  EXPECT_EQ(built, 1);
  EXPECT_TRUE(Matcher(first).accept_bytes("hello"));
  EXPECT_EQ(cache.counters().hits, 1);
}

TEST(GrammarCache, KeepsNoErrors) {
  GrammarCache cache(tokenizer());
  const auto reject = [](WorkMeter&) -> Result<Grammar> { return grammar_invalid("no"); };
  EXPECT_FALSE(cache.get("a", 0, reject));
  EXPECT_TRUE(cache.get("a", 0, literal("x")));
}

TEST(GrammarCache, WhatHasFailedIsBegunAnew) {
  GrammarCache cache(tokenizer());
  const auto huge = [](WorkMeter&) -> Result<Grammar> { return far_from_its_end(); };
  const auto first = cache.get("a", 0, huge).or_throw();
  Matcher matcher(first);
  for (unsigned i = 1; !matcher.failed() && i < 1'000'000; ++i) {
    static_cast<void>(matcher.accept_bytes(i * i / 7 % 2 == 0 ? "a" : "b"));
  }
  ASSERT_TRUE(matcher.failed());
  const auto second = cache.get("a", 0, huge).or_throw();
  EXPECT_TRUE(second != first);
  EXPECT_TRUE(Matcher(second).accept_bytes("ab"));
}

TEST(GrammarCache, WhatWasUsedLastStays) {
  GrammarCache cache(tokenizer(), {}, 20'000);
  const auto used = cache.get("used", 0, literal("used")).or_throw();
  for (int i = 0; i < 100; ++i) {
    const std::string text = "other" + std::to_string(i);
    ASSERT_TRUE(cache.get(text, 0, literal(text)));
    ASSERT_EQ(cache.get("used", 0, literal("used")).or_throw(), used) << i;
  }
  EXPECT_GT(cache.counters().evicted, 10);
}

TEST(GrammarCache, WhoHasMostGivesWay) {
  GrammarCache cache(tokenizer(), {}, 20'000);
  const auto mine = cache.get("mine", 1, literal("mine")).or_throw();
  for (int i = 0; i < 100; ++i) {
    const std::string text = "other" + std::to_string(i);
    ASSERT_TRUE(cache.get(text, 2, literal(text)));
  }
  const auto counters = cache.counters();
  EXPECT_LE(counters.bytes, 20'000u);
  EXPECT_GT(counters.evicted, 10);
  EXPECT_EQ(cache.get("mine", 1, literal("mine")).or_throw(), mine);
}

}  // namespace
}  // namespace millrace::grammar
