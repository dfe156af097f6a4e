#include "base/byte_archive.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

struct Inner {
  std::string name;
  std::optional<double> weight;
  bool operator==(const Inner&) const = default;
};
template <typename Archive>
void visit_fields(Archive& archive, Inner& inner) {
  archive(inner.name, inner.weight);
}

struct Outer {
  std::vector<Inner> list;
  std::map<std::string, std::variant<double, std::string>> map;
  std::array<bool, 3> flags{};
  std::vector<std::int32_t> numbers;
  std::pair<std::uint64_t, TimePoint> pair;
  std::variant<std::monostate, std::string, std::int32_t> either;
  bool operator==(const Outer&) const = default;
};
template <typename Archive>
void visit_fields(Archive& archive, Outer& outer) {
  archive(outer.list, outer.map, outer.flags, outer.numbers, outer.pair, outer.either);
}

Outer outer() {
  return {.list = {{"one", 1.5}, {"", std::nullopt}},
          .map = {{"a", 2.0}, {"b", "text"}},
          .flags = {true, false, true},
          .numbers = {1, -2, 3},
          .pair = {7, TimePoint(std::chrono::nanoseconds(-5))},
          .either = 4};
}

std::vector<std::byte> written(const Outer& value) {
  ByteWriter writer;
  writer(value);
  return writer.take();
}

TEST(ByteArchive, ReadsWhatItWrote) {
  const auto bytes = written(outer());
  ByteReader reader(bytes);
  Outer read;
  reader(read);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_EQ(read, outer());
}

TEST(ByteArchive, EveryBeginningIsRejected) {
  const auto bytes = written(outer());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    ByteReader reader(std::span<const std::byte>(bytes).first(n));
    Outer read;
    reader(read);
    EXPECT_FALSE(reader.ok()) << n;
  }
}

// Lengths and indices that cannot be: no memory is taken for them, and nothing is read beyond the end.
TEST(ByteArchive, ChangedBytesAreReadOrRejected) {
  const auto bytes = written(outer());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0, 1, 0x7f, 0xff}) {
      auto changed = bytes;
      changed[i] = static_cast<std::byte>(value);
      ByteReader reader(changed);
      Outer read;
      reader(read);
      EXPECT_LE(read.list.size(), bytes.size());
      EXPECT_LE(read.numbers.size(), bytes.size());
    }
  }
}

}  // namespace
}  // namespace millrace
