#include "kv/kv_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stop_token>

#include "backend/testing/test_backend.h"

namespace millrace::kv {
namespace {

constexpr std::int32_t kPages = 5;
constexpr KvNeed kWide{.kv_heads = 2, .key_dim = 32, .value_dim = 32};
constexpr KvNeed kNarrow{.kv_heads = 1, .key_dim = 20, .value_dim = 12, .window = 8};

class KvStoreTest : public testing::Test {
 protected:
  std::size_t bytes_of(const backend::KvPages& pages) const { return backend_->kv_page_bytes(pages.format); }
  static std::byte mark(std::size_t layer, std::int32_t page) {
    return static_cast<std::byte>(16 * (layer + 1) + static_cast<std::size_t>(page));
  }
  backend::DeviceAddress page(std::size_t layer, std::int32_t number) const {
    const backend::KvPages pages = store_.layer(static_cast<std::int64_t>(layer));
    return pages.base + static_cast<std::size_t>(number) * bytes_of(pages);
  }
  void fill(std::size_t layer, std::int32_t number, std::byte value) {
    const std::vector<std::byte> bytes(bytes_of(store_.layer(static_cast<std::int64_t>(layer))), value);
    backend_->upload(bytes, page(layer, number));
  }
  void fill_all() {
    for (std::size_t layer = 0; layer < kNeeds.size(); ++layer) {
      for (std::int32_t p = 0; p < kPages; ++p) fill(layer, p, mark(layer, p));
    }
  }
  bool holds(std::size_t layer, std::int32_t number, std::byte value) const {
    std::vector<std::byte> bytes(bytes_of(store_.layer(static_cast<std::int64_t>(layer))));
    backend_->download(page(layer, number), bytes);
    return std::ranges::all_of(bytes, [&](std::byte b) { return b == value; });
  }

  static constexpr std::array<KvNeed, 4> kNeeds{kWide, kNarrow, kNarrow, kWide};
  const backend::KvFormat form_{.encoding = "bf16", .block_tokens = 32};
  const std::unique_ptr<backend::Backend> backend_ = backend::make_test_backend(1);
  KvStore store_ = KvStore::create(*backend_, group_layers(kNeeds, form_), kPages).or_throw();
};

TEST_F(KvStoreTest, GroupsLayersThatKeepTheSame) {
  const KvGroups groups = group_layers(kNeeds, form_);
  ASSERT_EQ(groups.groups.size(), 2u);
  EXPECT_EQ(groups.groups[0].layers, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(groups.groups[1].layers, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(groups.groups[1].need, kNarrow);
  EXPECT_EQ(groups.layers(), 4);
  // Heads, padded sizes of K and V, B, bytes.
  const std::size_t wide = 2 * (32 + 32) * 32 * 2, narrow = 1 * (32 + 16) * 32 * 2;
  EXPECT_EQ(groups.page_bytes(*backend_), 2 * (wide + narrow));
  EXPECT_EQ(store_.page_bytes(), groups.page_bytes(*backend_));
  EXPECT_EQ(bytes_of(store_.layer(1)), narrow);
  EXPECT_EQ(bytes_of(store_.layer(3)), wide);
}

TEST_F(KvStoreTest, GroupsLayersOfAnotherEncodingApart) {
  backend::KvFormat form = form_;
  form.exceptions = std::make_shared<const std::vector<backend::KvException>>(
      std::vector<backend::KvException>{{.first = 0, .last = 1, .encoding = "f32"}, {1, 1, "int8"}});
  const KvGroups groups = group_layers(kNeeds, form);
  ASSERT_EQ(groups.groups.size(), 4u);
  store_ = KvStore::create(*backend_, groups, kPages).or_throw();
  const std::size_t wide = 2 * (32 + 32) * 32, narrow = 1 * (32 + 16) * 32;  // elements
  EXPECT_EQ(bytes_of(store_.layer(0)), wide * 4);
  EXPECT_EQ(bytes_of(store_.layer(1)), narrow + 32 * 8);
  EXPECT_EQ(bytes_of(store_.layer(2)), narrow * 2);
  EXPECT_EQ(bytes_of(store_.layer(3)), wide * 2);
  EXPECT_EQ(store_.page_bytes(), groups.page_bytes(*backend_));
}

TEST_F(KvStoreTest, PagesOfDifferentGroupsDoNotOverlap) {
  store_.populate(0, kPages, 0.0, std::stop_token());
  fill_all();
  for (std::size_t layer = 0; layer < kNeeds.size(); ++layer) {
    for (std::int32_t p = 0; p < kPages; ++p) EXPECT_TRUE(holds(layer, p, mark(layer, p))) << layer << " " << p;
  }
}

TEST_F(KvStoreTest, CopiesReadsAndWritesAPageInEveryGroup) {
  fill_all();
  std::vector<std::byte> out(store_.page_bytes());
  store_.read(2, out);
  store_.copy(2, 4);
  fill(1, 2, std::byte{0});
  store_.write(0, out);
  for (std::size_t layer = 0; layer < kNeeds.size(); ++layer) {
    EXPECT_TRUE(holds(layer, 0, mark(layer, 2))) << "written " << layer;
    EXPECT_TRUE(holds(layer, 4, mark(layer, 2))) << "copied " << layer;
    EXPECT_TRUE(holds(layer, 1, mark(layer, 1))) << "left alone " << layer;
    EXPECT_TRUE(holds(layer, 3, mark(layer, 3))) << "left alone " << layer;
  }
}

TEST_F(KvStoreTest, GivesBackTheMemoryOfWhatIsNotKept) {
  ASSERT_EQ(store_.memory_parts(), 1);
  for (unsigned kept = 0; kept < (1u << kPages); ++kept) {
    fill_all();
    const auto keeps = [kept](BlockId p) { return ((kept >> p) & 1u) != 0; };
    store_.give_back(0, keeps);
    for (std::size_t layer = 0; layer < kNeeds.size(); ++layer) {
      for (std::int32_t p = 0; p < kPages; ++p) {
        EXPECT_TRUE(!keeps(p) || holds(layer, p, mark(layer, p))) << kept << " " << layer << " " << p;
      }
    }
    // Pages of the first layer are whole pages of the system.
    const bool host = std::getenv("MILLRACE_TEST_BACKEND") == nullptr;
    for (std::int32_t p = 0; host && p < kPages; ++p) {
      EXPECT_TRUE(keeps(p) || holds(0, p, std::byte{0})) << kept << " " << p;
    }
  }
}

// The layers with a window apart: pages by one number, window pages by another.
TEST_F(KvStoreTest, LayersWithAWindowHavePagesOfTheirOwnNumbers) {
  const KvGroups groups = group_layers(kNeeds, form_);
  EXPECT_EQ(groups.window(), 8);
  store_ = KvStore::create(*backend_, groups, kPages, 3).or_throw();
  ASSERT_NE(store_.windowed(), nullptr);
  const std::size_t whole = groups.page_bytes(*backend_), window = groups.window_page_bytes(*backend_);
  EXPECT_EQ(store_.page_bytes() + window, whole);
  EXPECT_EQ(store_.windowed()->page_bytes(), window);
  EXPECT_EQ(store_.bytes(), kPages * (whole - window) + 3 * window);
  EXPECT_EQ(store_.windowed()->pages(), 3);
  EXPECT_FALSE(store_.windowed(0));
  EXPECT_TRUE(store_.windowed(1));
  EXPECT_TRUE(store_.windowed(2));
  EXPECT_FALSE(store_.windowed(3));
  for (const std::size_t layer : {0, 3}) {
    for (std::int32_t p = 0; p < kPages; ++p) fill(layer, p, mark(layer, p));
  }
  for (const std::size_t layer : {1, 2}) {
    for (std::int32_t p = 0; p < 3; ++p) fill(layer, p, mark(layer, p));
  }
  store_.copy(0, 1);
  store_.windowed()->copy(2, 1);
  std::vector<std::byte> out(window);
  store_.windowed()->read(2, out);
  store_.windowed()->write(0, out);
  for (const std::size_t layer : {0, 3}) {
    for (std::int32_t p = 0; p < kPages; ++p) EXPECT_TRUE(holds(layer, p, mark(layer, p == 1 ? 0 : p))) << p;
  }
  for (const std::size_t layer : {1, 2}) {
    for (std::int32_t p = 0; p < 3; ++p) EXPECT_TRUE(holds(layer, p, mark(layer, 2))) << p;
  }
}

// Where all have one, pages take no memory.
TEST_F(KvStoreTest, AStoreOfLayersWithAWindowAlone) {
  constexpr std::array<KvNeed, 2> kAll{kNarrow, kNarrow};
  const KvGroups groups = group_layers(kAll, form_);
  store_ = KvStore::create(*backend_, groups, 1 << 16, 3).or_throw();
  EXPECT_EQ(store_.page_bytes(), 0u);
  EXPECT_EQ(store_.memory_parts(), 0);
  EXPECT_EQ(store_.bytes(), 3 * groups.page_bytes(*backend_));
  store_.populate(0, 10, 0.0, std::stop_token());
  store_.copy(0, 1);
}

// A token takes its key and its value, each padded for itself, and in int8 a scale for each 128 numbers of either, in
// every layout.
TEST_F(KvStoreTest, APageIsAsLargeAsItsKeysAndItsValues) {
  constexpr std::int64_t kBlock = 64;
  const auto page_bytes = [&](std::int64_t key_dim, std::int64_t value_dim, std::string_view encoding,
                              std::string_view layout) {
    const KvNeed need{.kv_heads = 3, .key_dim = key_dim, .value_dim = value_dim};
    const KvGroups groups =
        group_layers(std::span(&need, 1), {.encoding = encoding, .block_tokens = kBlock, .layout = layout});
    return KvStore::create(*backend_, groups, kPages).or_throw().page_bytes();
  };
  for (const std::string_view layout : {"paged32", "token", "vector16"}) {
    for (const auto& [encoding, size] :
         {std::pair<std::string_view, std::size_t>{"f32", 4}, {"f16", 2}, {"bf16", 2}, {"int8", 1}}) {
      const auto of = [&, bytes = size](std::size_t dims, std::size_t scales = 2) {
        return 3 * kBlock * (dims * bytes + (bytes == 1 ? scales * sizeof(float) : 0));
      };
      EXPECT_EQ(page_bytes(192, 128, encoding, layout), of(192 + 128, 3)) << layout << " " << encoding;
      EXPECT_EQ(page_bytes(64, 96, encoding, layout), of(64 + 96)) << layout << " " << encoding;
      EXPECT_EQ(page_bytes(20, 12, encoding, layout), of(32 + 16)) << layout << " " << encoding;
      EXPECT_EQ(page_bytes(100, 100, encoding, layout), of(112 + 112)) << layout << " " << encoding;
    }
  }
}

}  // namespace
}  // namespace millrace::kv
