#include <gtest/gtest.h>

#include "base/memory_env.h"
#include "kv/disk_tier.h"
#include "kv/paged_cache.h"
#include "kv/testing/stamped_device.h"
#include "kv/testing/tokens.h"

namespace millrace::kv {
namespace {

// A disk tier whose disk takes a millisecond a read.
class SlowEnv final : public Env {
 public:
  explicit SlowEnv(MemoryEnv& files) : files_(files) {}
  TimePoint now() const override { return TimePoint() + std::chrono::milliseconds(files_.reads); }
  std::uint64_t random_seed() override { return 1; }
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override { return files_.open(path); }
  std::vector<std::string> list(const std::string& directory) override { return files_.list(directory); }
  Result<void> create_directories(const std::string&) override { return {}; }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override { return files_.create(path); }
  Result<void> rename(const std::string& from, const std::string& to) override { return files_.rename(from, to); }
  Result<void> remove(const std::string& path) override { return files_.remove(path); }
  Result<std::unique_ptr<HeldLock>> lock(const std::string& path) override { return files_.lock(path); }

 private:
  MemoryEnv& files_;
};

// One life of a server: a cache over a disk tier whose files outlive it.
class Server {
 public:
  explicit Server(MemoryEnv& env, double recompute_ms = 5, std::uint64_t model_key = 1) : slow(env) {
    disk = DiskTier::open(slow, {.directory = "kv", .origin = {model_key, device.page_bytes(), 8}}).or_throw();
    cache.emplace(CacheConfig{.block_tokens = 8, .pages = 16}, device, disk.get());
    cache->set_recompute_ms_per_page(recompute_ms);
  }
  // Returns the tokens that had not to be computed.
  std::int64_t serve(const Tokens& tokens, const PrefixScope& scope = {}) {
    BlockTable table = cache->make_table();
    const auto stamps = StampedDevice::stamps(scope, tokens);
    const auto size = static_cast<std::int64_t>(tokens.size());
    const std::int64_t found = cache->attach(table, cache->match(scope, tokens), TimePoint{});
    EXPECT_EQ(device.first_wrong(table, stamps, found), found);
    EXPECT_TRUE(cache->reserve(table, found, size));
    device.compute(table, stamps, found, size);
    cache->publish(scope, table, tokens, true, {}, TimePoint{});
    return found;
  }

  SlowEnv slow;
  StampedDevice device{16, 8};
  std::unique_ptr<DiskTier> disk;
  std::optional<PagedCache> cache;
};

TEST(DiskPages, AreFoundAfterARestart) {
  MemoryEnv env;
  EXPECT_EQ(Server(env).serve(count(0, 30)), 0);
  Server server(env);
  EXPECT_EQ(server.serve(count(0, 30)), 24);
  EXPECT_EQ(server.cache->counters().loaded_pages, 3);
  EXPECT_EQ(server.serve(count(0, 30)), 30);  // from memory
  EXPECT_EQ(server.disk->use().put, 0);
}

TEST(DiskPages, FollowPagesInMemory) {
  MemoryEnv env;
  Server(env).serve(count(0, 40));
  Server server(env);
  server.serve(count(0, 17));  // two from the disk tier
  EXPECT_EQ(server.serve(count(0, 40)), 40);
}

// A device that works again has not got its pages back.
TEST(DiskPages, AreNotThoseThatTheDeviceHasLost) {
  MemoryEnv env;
  Server server(env);
  server.cache->lose();
  server.serve(count(0, 24));
  BlockTable table = server.cache->make_table();
  EXPECT_TRUE(server.cache->reserve(table, 0, 24));
  EXPECT_FALSE(server.cache->export_pages(table, 24));
  EXPECT_FALSE(server.cache->swap_out(table, 24));
  table.truncate(0);
  EXPECT_EQ(server.disk->use().put, 0);
  server.cache->clear();
  EXPECT_EQ(server.serve(count(0, 24)), 0);
  EXPECT_EQ(server.disk->use().put, 3);
}

TEST(DiskPages, AreTheModelsAndTheScopes) {
  MemoryEnv env;
  Server(env).serve(count(0, 24), {.salt = "a"});
  EXPECT_EQ(Server(env).serve(count(0, 24), {.salt = "b"}), 0);
  EXPECT_EQ(Server(env).serve(count(0, 24), {.adapter = "1", .salt = "a"}), 0);
  EXPECT_EQ(Server(env, 5, 2).serve(count(0, 24), {.salt = "a"}), 0);
  EXPECT_EQ(Server(env).serve(count(0, 24), {.salt = "a"}), 24);
}

TEST(DiskPages, AreLoadedWhereThatIsFasterThanComputing) {
  MemoryEnv env;
  Server(env).serve(count(0, 24));
  Server(env).serve(count(100, 24));
  {
    Server server(env, 1.5);                     // a load takes two reads of a millisecond
    EXPECT_EQ(server.serve(count(0, 24)), 24);   // not measured yet
    EXPECT_EQ(server.serve(count(100, 24)), 0);  // measured
  }
  {
    Server server(env, 2.5);
    EXPECT_EQ(server.serve(count(0, 24)), 24);
    EXPECT_EQ(server.serve(count(100, 24)), 24);
  }
  EXPECT_EQ(Server(env, 0).serve(count(0, 24)), 0);  // nobody has measured computing
}

TEST(DiskPages, AreComputedAgainWhereDamaged) {
  MemoryEnv env;
  Server(env).serve(count(0, 24));
  for (auto& [path, content] : env.files) {
    if (path.find("segment") != std::string::npos) content[content.size() / 2] ^= 1;  // in the second page
  }
  Server server(env);
  EXPECT_EQ(server.serve(count(0, 24)), 8);
  EXPECT_EQ(server.disk->use().damaged, 1);
  EXPECT_EQ(server.disk->use().put, 1);  // whole again
}

TEST(DiskPages, AreGoneWhenForgotten) {
  MemoryEnv env;
  {
    Server server(env);
    server.serve(count(0, 24));
    server.cache->forget({}, count(0, 24), 8);
  }
  EXPECT_LE(Server(env).serve(count(0, 24)), 8);
}

TEST(DiskPages, AreLeftOutWherePagesAreShort) {
  MemoryEnv env;
  Server(env).serve(count(0, 40));
  Server server(env);
  BlockTable large = server.cache->make_table();
  ASSERT_TRUE(server.cache->reserve(large, 0, 13 * 8));
  BlockTable table = server.cache->make_table();
  EXPECT_EQ(server.cache->attach(table, server.cache->match({}, count(0, 40)), TimePoint{}), 24);
}

}  // namespace
}  // namespace millrace::kv
