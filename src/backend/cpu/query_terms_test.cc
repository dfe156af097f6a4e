// Queries as int8 where keys are: in one term, or in two.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "backend/cpu/head_rotation.h"
#include "backend/cpu/testing/attention_fixture.h"

namespace millrace::backend::cpu {
namespace {

// Heads of 64 as pages hold them, back in the model's own form.
void turn_heads(std::vector<float>& heads) {
  for (std::size_t i = 0; i < heads.size(); i += 64) rotate_head(heads.data() + i, 64);
}

// A query with one value that dwarfs the others takes a second term, which keeps them.
TEST(AttentionInt8, KeepsSmallValuesOfAQueryBesideALargeOne) {
  const KvEncoding& int8 = *find_kv_encoding("int8");
  Content content({.head_dim = 64, .group = 4, .length = 300, .n_rows = 9});
  for (std::size_t i = 0; i < content.q.size(); i += 64) content.q[i] = 40.0f;
  for (std::size_t i = 0; i < content.keys.size(); i += 64) content.keys[i] = 0.0f;
  turn_heads(content.q);
  turn_heads(content.keys);
  const Reference expected = reference(int8, content);
  for (const Isa isa : supported_isas()) {
    const std::vector<float> out = attend(isa, &int8, content);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double largest = largest_of_head(expected.magnitude, i, 64);
      ASSERT_NEAR(out[i], expected.out[i], 1e-5 + 2e-3 * largest + largest / 510) << to_string(isa) << " at " << i;
    }
  }
}

TEST(AttentionInt8, TakesOneTermForAnOrdinaryQuery) {
  const KvEncoding& int8 = *find_kv_encoding("int8");
  Content content({.head_dim = 64, .group = 4, .length = 300, .n_rows = 9});
  // Sums of eighths, which are exact. One term keeps whole numbers, beside a largest value of 127.
  for (std::size_t i = 0; i < content.q.size(); ++i)
    content.q[i] = i % 64 == 0 ? 127.0f : i % 2 == 0 ? 38.25f : -38.25f;
  Content rounded = content;
  for (float& x : rounded.q) x = std::nearbyint(x);
  turn_heads(content.q);
  turn_heads(rounded.q);
  for (const Isa isa : supported_isas()) {
    EXPECT_TRUE(same_bits(attend(isa, &int8, content), attend(isa, &int8, rounded))) << to_string(isa);
  }
}

// The largest value is compared with the root mean square of the head as pages hold it: a head of 20 has the terms, and
// so the bits, of one of 32 whose last 12 are zeros. These queries, rows of the rotation cut off, lie between 4 times
// the one and 4 times the other.
TEST(AttentionInt8, ChoosesTheTermsOfAQueryByThePaddedHead) {
  const KvEncoding& int8 = *find_kv_encoding("int8");
  Content content({.head_dim = 20, .group = 4, .length = 300, .n_rows = 9, .scale_dim = 32});
  for (std::size_t i = 0; i < content.q.size(); ++i) {
    const auto row = static_cast<unsigned>(i / 20 % 32), column = static_cast<unsigned>(i % 20);
    content.q[i] = (std::popcount(row & column) % 2 == 0 ? 1.0f : -1.0f) + 0.05f * content.q[i];
  }
  const Content longer = content.with_sizes(32, 20);
  for (const Isa isa : supported_isas()) {
    EXPECT_TRUE(same_bits(attend(isa, &int8, content), attend(isa, &int8, longer))) << to_string(isa);
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
