#include "engine/idle_memory.h"

#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

class IdleMemoryTest : public EngineTest {
 protected:
  std::map<RequestId, Collected> answers(Engine& engine) {
    for (unsigned i = 0; i < 4; ++i) engine.submit(request(40 + 30 * i, i)).or_throw();
    return drain(engine);
  }
  static std::vector<std::vector<std::int32_t>> tokens(const std::map<RequestId, Collected>& answers) {
    std::vector<std::vector<std::int32_t>> out;
    for (const auto& [id, answer] : answers) out.push_back(answer.tokens);
    return out;
  }
  static void work(Engine& engine, double idle_seconds) {
    while (engine.idle_memory().work(idle_seconds)) {
    }
  }
};

TEST_F(IdleMemoryTest, AnswersAreTheSameAfterFreePagesGaveTheirMemoryBack) {
  const auto engine = make();
  executor_->memory().follow();
  engine->idle_memory().configure({.free_seconds = 1.0, .cached_seconds = 10.0, .cached_bytes = 0});
  const auto before = tokens(answers(*engine));
  const std::int32_t cached = engine->cache().use().cached;
  EXPECT_GT(cached, 0);
  work(*engine, 0.5);
  EXPECT_EQ(engine->cache().use().cached, cached);
  work(*engine, 2.0);
  EXPECT_EQ(engine->cache().use().cached, cached);  // prefixes stay longer
  EXPECT_EQ(tokens(answers(*engine)), before);
  EXPECT_GT(engine->cache().counters().hit_tokens, 0);
  work(*engine, 20.0);
  EXPECT_EQ(engine->cache().use().cached, 0);
  EXPECT_EQ(tokens(answers(*engine)), before);
  engine->check_integrity();
}

TEST_F(IdleMemoryTest, KeepsAShareOfPrefixes) {
  const auto engine = make();
  answers(*engine);
  const std::size_t page = engine->cache().page_bytes();
  engine->idle_memory().configure({.free_seconds = 1.0, .cached_seconds = 10.0, .cached_bytes = 3 * page});
  EXPECT_GT(engine->cache().use().cached, 3);
  work(*engine, 20.0);
  EXPECT_LE(engine->cache().use().cached, 3);
  EXPECT_GT(engine->cache().use().cached, 0);
}

TEST_F(IdleMemoryTest, WhatTakesLongToComputeAgainStaysLonger) {
  const auto engine = make();
  engine->warm_up().or_throw();
  // Fewer steps than after which what they say of time, on a busy machine anything, would replace the warm-up's figure.
  engine->submit(request(130, 0, 2)).or_throw();
  drain(*engine);
  const auto& cache = engine->cache();
  engine->idle_memory().configure(
      {.free_seconds = 0.0, .cached_seconds = 0.0, .recompute_times = 1e9, .cached_bytes = 0});
  const std::int32_t cached = cache.use().cached;
  EXPECT_GT(cache.recompute_ms_per_page(), 0.0);
  work(*engine, 1.0);
  EXPECT_EQ(cache.use().cached, cached);
  work(*engine, 1.1e6 * cached * cache.recompute_ms_per_page());
  EXPECT_EQ(cache.use().cached, 0);
}

}  // namespace
}  // namespace millrace::engine
