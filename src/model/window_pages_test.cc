// Layers with a window give their pages back behind it: no bit of any token changes, whatever lies in those pages.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backend/cpu/kv_layout.h"
#include "kv/paged_cache.h"
#include "model/blocks/attention.h"
#include "model/testing/random_tokens.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

const std::string kLlama = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama";

// A store whose free pages hold no numbers.
class Poisoned final : public kv::PageDevice {
 public:
  explicit Poisoned(kv::PageDevice& device) : device_(device) {
    if (device.windowed() != nullptr) windowed_ = std::make_unique<Poisoned>(*device.windowed());
  }
  std::size_t page_bytes() const noexcept override { return device_.page_bytes(); }
  kv::PageDevice* windowed() noexcept override { return windowed_.get(); }
  void copy(kv::BlockId from, kv::BlockId to) override { device_.copy(from, to); }
  void read(kv::BlockId page, std::span<std::byte> out) const override { device_.read(page, out); }
  void write(kv::BlockId page, std::span<const std::byte> in) override { device_.write(page, in); }
  void freed(kv::BlockId page) override {
    device_.write(page, std::vector<std::byte>(page_bytes(), std::byte{0xff}));
    ++freed_;
  }
  int freed_count() const { return freed_; }

 private:
  kv::PageDevice& device_;
  std::unique_ptr<Poisoned> windowed_;
  int freed_ = 0;
};

struct Pages {
  std::string_view encoding;
  const char* layout;
  std::int64_t block_tokens;
};

class WindowPagesTest : public testing::TestWithParam<Pages> {
 protected:
  // Windows of the two layers; 0: none.
  using Windows = std::array<std::int64_t, 2>;

  static TestRunner runner(const Windows& windows) {
    return TestRunner(kLlama, {.kv = "bf16", .max_length = 2048}, [&](ModelSpec spec) {
      for (std::size_t i = 0; i < 2; ++i) spec.layers[i].get<AttentionParams>().window = windows[i];
      return spec;
    });
  }
  // The logits of all tokens, computed in chunks of at most `most` tokens over `window_pages` more window pages than a
  // token at a time needs.
  static std::vector<float> run(TestRunner& model, const std::vector<std::int32_t>& tokens, std::int64_t most,
                                std::int32_t window_pages) {
    const backend::KvFormat form =
        backend::cpu::choose_pages(GetParam().encoding, GetParam().layout, GetParam().block_tokens).or_throw();
    const kv::KvGroups groups = model.transformer().kv_groups(form);
    const auto length = static_cast<std::int64_t>(tokens.size());
    const auto pages = static_cast<std::int32_t>(length / groups.block_tokens + 2);
    if (window_pages > 0) window_pages += kv::min_window_pages(groups.window(), groups.block_tokens);
    kv::KvStore store = kv::KvStore::create(model.backend(), groups, pages, window_pages).or_throw();
    Poisoned device(store);
    kv::PagedCache cache(
        {.block_tokens = groups.block_tokens, .pages = pages, .window = groups.window(), .window_pages = window_pages},
        device, nullptr);
    for (kv::BlockId page = 0; page < window_pages; ++page) device.windowed()->freed(page);
    kv::BlockTable table = cache.make_table();
    std::vector<float> logits;
    std::mt19937 random(2);
    for (std::int64_t computed = 0; computed < length;) {
      const std::int64_t n =
          std::min(length - computed, most == 0 ? length : 1 + static_cast<std::int64_t>(random()) % most);
      table.release_behind(computed);
      EXPECT_TRUE(cache.reserve(table, computed, computed + n));
      BatchInput input;
      input.tokens.assign(tokens.begin() + computed, tokens.begin() + computed + n);
      input.sequences.push_back({0, n, computed, table.blocks()});
      input.window_pages.push_back(table.window_blocks());
      for (std::int64_t r = 0; r < n; ++r) input.logit_rows.push_back(r);
      const TensorView out = model.transformer().forward(input, store);
      for (std::int64_t r = 0; r < n; ++r) logits.insert(logits.end(), out.row(r), out.row(r) + out.cols());
      computed += n;
    }
    if (window_pages > 0 && most > 0) {
      EXPECT_GT(static_cast<Poisoned*>(device.windowed())->freed_count(), window_pages) << "nothing was given back";
      EXPECT_LE(cache.use().window_used, kv::min_window_pages(groups.window(), groups.block_tokens) +
                                             (most + groups.block_tokens - 1) / groups.block_tokens);
    }
    return logits;
  }
};

TEST_P(WindowPagesTest, ChangeNoBit) {
  const std::vector<std::int32_t> tokens = random_tokens(1300, 1, 64);
  for (const Windows& windows : {Windows{8, 0}, {0, 33}, {100, 100}, {1, 0}, {600, 40}, {0, 512}}) {
    TestRunner model = runner(windows);
    const std::vector<float> whole = run(model, tokens, 0, 0);
    ASSERT_EQ(whole.size(), tokens.size() * 64);
    for (const std::int64_t most : {1, 7, 90}) {
      const auto spare = static_cast<std::int32_t>(most / GetParam().block_tokens);
      const std::vector<float> released = run(model, tokens, most, spare + 1);
      ASSERT_EQ(released.size(), whole.size());
      EXPECT_EQ(std::memcmp(released.data(), whole.data(), whole.size() * sizeof(float)), 0)
          << windows[0] << ", " << windows[1] << " in chunks of up to " << most;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, WindowPagesTest,
                         testing::Values(Pages{"bf16", "paged32", 32}, Pages{"int8", "paged32", 64},
                                         Pages{"f32", "token", 1}, Pages{"f16", "vector16", 16},
                                         Pages{"bf16", "vector16", 24}));

}  // namespace
}  // namespace millrace::model
