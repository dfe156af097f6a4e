#include "decode/breaker_cache.h"

#include <gtest/gtest.h>

#include "text/testing/vocabularies.h"

namespace millrace::decode {
namespace {

std::shared_ptr<const text::Tokenizer> tokenizer() {
  return text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt2")).or_throw();
}

TEST(BreakerCache, FindsTheSameStringsOnce) {
  BreakerCache cache(tokenizer());
  const auto first = cache.get({"\n", "hel"});
  EXPECT_TRUE(first->breaks_alone(258));   // "hell"
  EXPECT_FALSE(first->breaks_alone(256));  // "he"
  EXPECT_EQ(cache.get({"\n", "hel"}), first);
  EXPECT_NE(cache.get({"\n"}), first);
  EXPECT_EQ(cache.get({"\n", "hel"}), first);
}

TEST(BreakerCache, ForgetsWhatWasNotAskedForLongest) {
  BreakerCache cache(tokenizer());
  const auto kept = cache.get({"kept"}), old = cache.get({"old"});
  for (std::size_t i = 0; i + 2 < BreakerCache::kMaxEntries; ++i) cache.get({std::to_string(i)});
  EXPECT_EQ(cache.get({"kept"}), kept);
  cache.get({"one more"});
  EXPECT_EQ(cache.get({"kept"}), kept);
  EXPECT_NE(cache.get({"old"}), old);
}

}  // namespace
}  // namespace millrace::decode
