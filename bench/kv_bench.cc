// Bookkeeping of the paged cache at 256 sequences, and how contiguous their pages stay: no model, no memory behind the
// pages.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "kv/paged_cache.h"
#include "no_device.h"

namespace millrace::kv {
namespace {

constexpr std::int32_t kSequences = 256;

std::vector<std::int32_t> random_tokens(std::mt19937& random, std::int64_t n) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(n));
  for (auto& token : tokens) token = static_cast<std::int32_t>(random() % 32000);
  return tokens;
}

struct Served {
  std::vector<std::int32_t> tokens;
  BlockTable table;
};

std::vector<Served> serve_all(PagedCache& cache, std::int64_t n) {
  std::mt19937 random(1);
  std::vector<Served> all;
  for (std::int32_t i = 0; i < kSequences; ++i) {
    all.push_back({random_tokens(random, n), cache.make_table()});
    cache.reserve(all.back().table, 0, n);
    cache.publish({}, all.back().table, all.back().tokens, false, {}, TimePoint{});
  }
  return all;
}

// One decode step of 256 sequences without a new page.
void BM_StepWithNothingNew(benchmark::State& state) {
  const std::int64_t n = 1000;
  NoDevice device;
  PagedCache cache({.block_tokens = 32, .pages = 16384}, device, nullptr);
  auto all = serve_all(cache, n);
  for (auto _ : state) {
    for (Served& served : all) {
      benchmark::DoNotOptimize(cache.needed(served.table, n - 1, n));
      cache.reserve(served.table, n - 1, n);
      cache.publish({}, served.table, served.tokens, false, {}, TimePoint{});
    }
  }
}
BENCHMARK(BM_StepWithNothingNew)->Unit(benchmark::kMicrosecond);

// One decode step in which each of 256 sequences fills a page, publishes it and takes another.
void BM_StepWithAPageEach(benchmark::State& state) {
  const std::int64_t block_tokens = state.range(0), n = 1024, most = n + 64 * block_tokens;
  NoDevice device;
  PagedCache cache({.block_tokens = block_tokens, .pages = static_cast<std::int32_t>(300 * most / block_tokens)},
                   device, nullptr);
  auto all = serve_all(cache, n);
  std::mt19937 random(2);
  for (Served& served : all) served.tokens = served.tokens, served.tokens.resize(static_cast<std::size_t>(most), 7);
  std::int64_t now = n;
  for (auto _ : state) {
    if (now == most) {
      state.PauseTiming();
      for (Served& served : all) served.table.truncate(n);
      cache.clear();
      now = n;
      state.ResumeTiming();
    }
    now += block_tokens;
    for (Served& served : all) {
      cache.reserve(served.table, now - block_tokens, now);
      cache.publish({}, served.table, std::span(served.tokens).first(static_cast<std::size_t>(now)), false, {},
                    TimePoint{});
    }
  }
}
BENCHMARK(BM_StepWithAPageEach)->Arg(1)->Arg(32)->Unit(benchmark::kMicrosecond);

// What a new sequence costs whose prompt nobody had before, and one that everybody had.
void BM_MatchAndAttach(benchmark::State& state) {
  NoDevice device;
  PagedCache cache({.block_tokens = 32, .pages = 16384}, device, nullptr);
  const auto all = serve_all(cache, 1024);
  std::mt19937 random(3);
  const auto tokens = state.range(0) == 0 ? random_tokens(random, 1024) : all[100].tokens;
  for (auto _ : state) {
    BlockTable table = cache.make_table();
    benchmark::DoNotOptimize(cache.attach(table, cache.match({}, tokens), TimePoint{}));
  }
}
BENCHMARK(BM_MatchAndAttach)->ArgName("hit")->Arg(0)->Arg(1);

// One call of compact() in which nothing is left to move, of 256 sequences: what an idle step costs at the end.
void BM_CompactNothing(benchmark::State& state) {
  NoDevice device;
  PagedCache cache({.block_tokens = state.range(0), .pages = static_cast<std::int32_t>(400'000 / state.range(0))},
                   device, nullptr);
  auto all = serve_all(cache, 1024);
  std::vector<BlockTable*> tables;
  for (Served& served : all) tables.push_back(&served.table);
  while (cache.compact(tables, 1024) > 0) {
  }
  for (auto _ : state) benchmark::DoNotOptimize(cache.compact(tables, 1024));
}
BENCHMARK(BM_CompactNothing)->ArgName("block")->Arg(1)->Arg(32)->Unit(benchmark::kMicrosecond);

// Pages of a megabyte, as of a model of 1B: 16 layers, 8 heads of 64, bf16, 32 tokens.
class MegabytePages final : public PageDevice {
 public:
  explicit MegabytePages(std::int32_t pages) : memory_(static_cast<std::size_t>(pages) * kBytes) {}
  std::size_t page_bytes() const noexcept override { return kBytes; }
  void copy(BlockId from, BlockId to) override { std::memcpy(at(to), at(from), kBytes); }
  void read(BlockId, std::span<std::byte>) const override {}
  void write(BlockId, std::span<const std::byte>) override {}

 private:
  static constexpr std::size_t kBytes = 1 << 20;
  std::byte* at(BlockId page) { return memory_.data() + static_cast<std::size_t>(page) * kBytes; }
  std::vector<std::byte> memory_;
};

// A call that moves range(0) pages.
void BM_CompactMoving(benchmark::State& state) {
  constexpr std::int32_t kPages = 512;
  MegabytePages device(kPages);
  PagedCache cache({.block_tokens = 32, .pages = kPages, .prefix_caching = false}, device, nullptr);
  std::vector<BlockTable> held;
  std::int64_t moved = 0;
  const auto scatter = [&] {  // two sequences of every second page of one half, the other half free
    held.clear();
    BlockTable all = cache.make_table();
    cache.reserve(all, 0, kPages * 32);
    for (BlockId first = 0; first < 2; ++first) {
      std::vector<BlockId> pages;
      for (BlockId page = first; page < kPages / 2; page += 2) pages.push_back(page);
      held.push_back(cache.make_table());
      held.back().share(pages);
    }
  };
  scatter();
  for (auto _ : state) {
    BlockTable* const tables[] = {&held[0], &held[1]};
    const std::int32_t n = cache.compact(tables, static_cast<std::int32_t>(state.range(0)));
    moved += n;
    if (n > 0) continue;
    state.PauseTiming();
    scatter();
    state.ResumeTiming();
  }
  state.counters["pages"] = static_cast<double>(moved) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_CompactMoving)->ArgName("copies")->Arg(1)->Arg(4)->Unit(benchmark::kMicrosecond);

// Serving: prompts and answers of log-normal length, the pool 90 % full of live sequences, prompts in chunks of 256.
// Share of the live tokens that lie in runs of at least 512 tokens (or the whole sequence), over all steps; range(1):
// copies of pages allowed a step.
void BM_ContiguousShare(benchmark::State& state) {
  const std::int64_t block_tokens = state.range(0);
  constexpr std::int64_t kPoolTokens = 131072;
  double share = 0;
  for (auto _ : state) {
    NoDevice device;
    PagedCache cache({.block_tokens = block_tokens,
                      .pages = static_cast<std::int32_t>(kPoolTokens / block_tokens),
                      .prefix_caching = false},
                     device, nullptr);
    struct Live {
      std::int64_t prompt, total, computed = 0;
      BlockTable table;
    };
    std::vector<Live> live;
    std::mt19937 random(5);
    std::lognormal_distribution<double> prompts(6.2, 0.9), answers(5.5, 0.8);
    std::int64_t promised = 0, tokens = 0, contiguous = 0;
    for (int step = 0; step < 6000; ++step) {
      while (promised < kPoolTokens * 9 / 10) {
        const std::int64_t prompt = 16 + std::min<std::int64_t>(8192, std::llround(prompts(random)));
        const std::int64_t total = prompt + 8 + std::min<std::int64_t>(2048, std::llround(answers(random)));
        live.push_back({prompt, total, 0, cache.make_table()});
        promised += total;
      }
      std::int64_t budget = 512;
      for (Live& one : live) {
        const bool decoding = one.computed >= one.prompt;
        const std::int64_t n = decoding ? 1 : std::min({budget, one.prompt - one.computed, std::int64_t{256}});
        if (!decoding) budget -= n;
        if (n > 0 && cache.reserve(one.table, one.computed, one.computed + n)) one.computed += n;
      }
      std::erase_if(live, [&](const Live& one) {
        if (one.computed >= one.total) promised -= one.total;
        return one.computed >= one.total;
      });
      std::vector<BlockTable*> tables;
      for (Live& one : live) tables.push_back(&one.table);
      cache.compact(tables, static_cast<std::int32_t>(state.range(1)));
      if (step < 1000) continue;
      for (const Live& one : live) {
        tokens += one.table.capacity_tokens();
        contiguous += one.table.contiguous_tokens();
      }
    }
    share = static_cast<double>(contiguous) / static_cast<double>(tokens);
  }
  state.counters["contiguous"] = share;
}
BENCHMARK(BM_ContiguousShare)
    ->ArgNames({"block", "copies"})
    ->Args({32, 0})
    ->Args({32, 4})
    ->Args({32, 32})
    ->Args({1, 0})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::kv
