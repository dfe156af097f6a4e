// The store against a simulated LRU, and what becomes of requests around loads, replacements, evictions and removals.

#include "model/adapters/adapter_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <list>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "backend/shape_backend.h"
#include "base/env.h"
#include "model/adapters/adapter_claim.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAdapterBytes = 1000;

std::shared_ptr<const Adapter> made_content(const std::string& key, std::size_t bytes = kAdapterBytes) {
  std::vector<std::unique_ptr<backend::LowRank>> weights;
  weights.push_back(std::make_unique<backend::HeldLowRank>(backend::LowRankSource{}, bytes));
  return std::make_shared<const Adapter>(key, AdapterSummary{.rank = 4, .modules = 1}, std::move(weights));
}

// A directory of adapters whose content is a word in their file; "bad" cannot be read.
class AdapterStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("millrace_store_{}_{}", ::getpid(), counter_++);
    for (const char* name : {"a", "b", "c", "d", "e"}) write(name, std::string("content of ") + name);
  }
  void TearDown() override {
    open_gate();
    store_.reset();
    fs::remove_all(folder_);
  }

  void write(const std::string& name, const std::string& content) const {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "adapter_config.json") << content;
  }

  AdapterStore& make(AdapterLimits limits, WhenFull full = WhenFull::kQueue,
                     WaitingRequests waiting = WaitingRequests::kFinish) {
    const auto read = [this](const std::string& directory) {
      std::unique_lock gate(gate_);
      gate.unlock();
      ++reads_;
      const std::string word = read_file(Env::system(), directory + "/adapter_config.json", 1000).or_throw();
      if (word == "bad") throw_load_error(ErrorCode::kBadFile, "r", "{}/adapter_config.json: r is bad", directory);
      return AdapterContent{made_content(word, word == "large" ? 2 * kAdapterBytes : kAdapterBytes)};
    };
    store_ = std::make_shared<AdapterStore>(
        Env::system(), read,
        AdapterStore::Config{.limits = limits, .when_full = full, .waiting = waiting, .directory = folder_});
    return *store_;
  }
  void close_gate() { gate_.lock(); }  // no file is read until it opens
  void open_gate() {
    static_cast<void>(gate_.try_lock());  // it may be open
    gate_.unlock();
  }

  using Answer = Result<AdapterStore::Leases>;
  std::future<Answer> ask_all(std::vector<AdapterRef> wanted) {
    auto promise = std::make_shared<std::promise<Answer>>();
    auto future = promise->get_future();
    auto now = store_->acquire(std::move(wanted), [promise](Answer answer) { promise->set_value(std::move(answer)); });
    if (now) promise->set_value(*std::move(now));
    return future;
  }
  std::future<Answer> ask(const std::vector<std::string>& names) {
    std::vector<AdapterRef> wanted;
    for (const std::string& name : names) wanted.push_back(store_->find(name).or_throw());
    return ask_all(std::move(wanted));
  }
  AdapterStore::Leases get(const std::string& name) { return ask({name}).get().or_throw(); }
  Result<AdapterCard> load(const std::string& name, const std::string& path, AdapterStore::LoadOptions options = {}) {
    std::promise<Result<AdapterCard>> promise;
    store_->load(name, path, options, [&](Result<AdapterCard> card) { promise.set_value(std::move(card)); });
    return promise.get_future().get();
  }
  std::set<std::string> resident() const {
    std::set<std::string> names;
    for (const AdapterCard& card : store_->list()) {
      if (card.resident) names.insert(card.name);
    }
    return names;
  }
  static bool waits(const std::future<Answer>& future) {
    return future.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
  }

  fs::path folder_;
  std::mutex gate_;
  std::atomic<int> reads_ = 0;
  std::shared_ptr<AdapterStore> store_;
  static inline int counter_ = 0;
};

TEST_F(AdapterStoreTest, IsAnLruOfWhatRequestsDoNotUse) {
  std::mt19937 random(1);
  for (const std::int64_t places : {1, 2, 3, 4}) {
    make({.count = places});
    std::list<std::string> order;  // in memory, the one used longest ago first
    std::int64_t hits = 0, evictions = 0;
    std::map<std::string, AdapterStore::Leases> held;  // fewer than the places
    for (int i = 0; i < 400; ++i) {
      const std::string name(1, static_cast<char>('a' + std::min(random() % 5, random() % 5)));
      const bool there = std::ranges::find(order, name) != order.end();
      const bool all_held = std::ssize(held) == places;
      if (!there && all_held) {
        held.clear();
        continue;
      }
      if (!there && std::ssize(order) == places) {
        const auto oldest = std::ranges::find_if(order, [&](const auto& one) { return !held.contains(one); });
        order.erase(oldest);
        ++evictions;
      }
      hits += there ? 1 : 0;
      order.remove(name);
      order.push_back(name);
      auto leases = get(name);
      EXPECT_EQ(leases[0].adapter->key(), "content of " + name);
      if (random() % 3 == 0) held[name] = std::move(leases);
      if (random() % 4 == 0) held.clear();
      ASSERT_EQ(resident(), std::set<std::string>(order.begin(), order.end())) << "at " << i;
    }
    held.clear();
    const AdapterFigures figures = store_->figures();
    EXPECT_EQ(figures.hits, hits);
    EXPECT_EQ(figures.evictions, evictions);
    EXPECT_EQ(figures.resident, std::ssize(order));
    EXPECT_EQ(figures.bytes, order.size() * kAdapterBytes);
  }
}

TEST_F(AdapterStoreTest, WaitsForRoomOrRejectsNamingTheLimit) {
  make({.count = 1});
  auto a = get("a");
  auto b = ask({"b"});
  EXPECT_TRUE(waits(b));
  a.clear();
  EXPECT_EQ(b.get().or_throw()[0].adapter->key(), "content of b");

  make({.count = 1}, WhenFull::kReject);
  a = get("a");
  const Answer rejected = ask({"b"}).get();
  EXPECT_EQ(rejected.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(rejected.error().message.find("--max-loras 1"), std::string::npos) << rejected.error().message;
  EXPECT_EQ(load("x", "b").error().code, ErrorCode::kResourceExhausted);
  a.clear();
  EXPECT_TRUE(load("x", "b"));
}

TEST_F(AdapterStoreTest, RejectsWhatNeverFits) {
  make({.count = 1});
  EXPECT_EQ(ask({"a", "b"}).get().error().param, "max-loras");
  write("large", "large");
  make({.bytes = 2 * kAdapterBytes - 1});
  EXPECT_EQ(ask({"large"}).get().error().param, "lora-memory");
  EXPECT_EQ(get("a")[0].adapter->key(), "content of a");
  EXPECT_EQ(get("b")[0].adapter->key(), "content of b");
  EXPECT_EQ(resident(), std::set<std::string>{"b"});
  ASSERT_TRUE(store_->load_pinned("p", folder_ / "c"));
  EXPECT_EQ(ask({"d"}).get().error().code, ErrorCode::kResourceExhausted) << "p stays";
  EXPECT_EQ(store_->load_pinned("q", folder_ / "d").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(AdapterStoreTest, PinnedOnesStay) {
  make({.count = 2});
  ASSERT_TRUE(load("p", "e", {.pinned = true}));
  ASSERT_TRUE(load("p", "a", {.replace = true})) << "which is pinned too";
  for (const char* name : {"b", "c", "d", "b"}) get(name);
  EXPECT_EQ(resident(), (std::set<std::string>{"p", "b"}));
  EXPECT_TRUE(store_->remove("p"));
  get("c");
  EXPECT_EQ(resident(), (std::set<std::string>{"b", "c"})) << "its place is free";
}

TEST_F(AdapterStoreTest, ReadsOnceForAllThatWait) {
  make({});
  close_gate();
  std::vector<std::future<Answer>> all;
  for (int i = 0; i < 8; ++i) all.push_back(ask({"a"}));
  open_gate();
  for (auto& one : all) EXPECT_EQ(one.get().or_throw()[0].adapter->key(), "content of a");
  EXPECT_EQ(reads_, 1);
}

TEST_F(AdapterStoreTest, AWaitingBlendHoldsNothingThatOthersWaitFor) {
  make({.count = 2});
  auto a = get("a"), b = get("b");
  auto first = ask({"a", "c"}), second = ask({"b", "d"});
  EXPECT_TRUE(waits(first));
  b.clear();
  auto got = first.get().or_throw();
  EXPECT_EQ(got[1].adapter->key(), "content of c");
  EXPECT_TRUE(waits(second));
  a.clear();
  got.clear();
  EXPECT_EQ(second.get().or_throw()[1].adapter->key(), "content of d");
}

TEST_F(AdapterStoreTest, ThoseInMemoryDoNotPassOneThatWaitsForever) {
  make({.count = 1});
  auto a = get("a");
  auto b = ask({"b"});
  EXPECT_TRUE(waits(b));
  bool waited = false;
  for (int i = 0; i < 1000 && !waited; ++i) {
    auto next = ask({"a"});
    waited = waits(next);
    if (waited) {
      a.clear();
      EXPECT_EQ(b.get().or_throw()[0].adapter->key(), "content of b");
      EXPECT_EQ(next.get().or_throw()[0].adapter->key(), "content of a");
    } else {
      a = next.get().or_throw();  // the next one begins before the last one ends
    }
  }
  EXPECT_TRUE(waited);
}

TEST_F(AdapterStoreTest, ARequestGetsWhatItsNameStoodForWhenItCame) {
  make({.count = 1});
  ASSERT_TRUE(load("x", "a"));
  auto other = get("b");  // x leaves memory
  auto waiting = ask({"x"});
  auto replaced = std::async(std::launch::async, [&] { return load("x", "c", {.replace = true}); });
  EXPECT_TRUE(waits(waiting));
  other.clear();
  auto old = waiting.get().or_throw();
  EXPECT_EQ(old[0].adapter->key(), "content of a");
  EXPECT_EQ(old[0].generation, 1);
  EXPECT_EQ(replaced.get().or_throw().generation, 2) << "the place of what it replaces is enough";
  const auto fresh = get("x");
  EXPECT_EQ(fresh[0].adapter->key(), "content of c");
  EXPECT_EQ(old[0].adapter->key(), "content of a");
  EXPECT_EQ(store_->figures().resident, 2) << "the old one lives until its request ends";
  old.clear();
  EXPECT_EQ(store_->figures().resident, 1);
}

TEST_F(AdapterStoreTest, FilesThatChangedAreNotTheAdapter) {
  make({.count = 1});
  get("a");
  get("b");
  write("a", "other");
  EXPECT_EQ(ask({"a"}).get().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(load("a", "a", {.replace = true}).or_throw().generation, 2);
  EXPECT_EQ(get("a")[0].adapter->key(), "other");
}

TEST_F(AdapterStoreTest, RemovedOnesGoWithTheirLastRequest) {
  make({.count = 1});
  auto b = get("b");
  auto finishing = ask({"a"});
  EXPECT_TRUE(waits(finishing));
  EXPECT_TRUE(store_->remove("a"));
  b.clear();
  EXPECT_EQ(finishing.get().or_throw()[0].adapter->key(), "content of a");
  EXPECT_EQ(store_->figures().resident, 0);

  b.clear();
  make({.count = 1}, WhenFull::kQueue, WaitingRequests::kReject);
  b = get("b");
  auto rejected = ask({"a"});
  EXPECT_TRUE(waits(rejected));
  const AdapterRef a = store_->find("a").or_throw();
  EXPECT_TRUE(store_->remove("a"));
  EXPECT_TRUE(store_->rejected(a));
  EXPECT_EQ(rejected.get().error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(store_->remove("a"));
}

TEST_F(AdapterStoreTest, NothingIsReadForWhoHasLeft) {
  make({.count = 1});
  auto a = get("a");
  std::atomic<bool> left = false;
  std::promise<Answer> answer;
  EXPECT_FALSE(store_->acquire(
      {store_->find("b").or_throw()}, [&](Answer got) { answer.set_value(std::move(got)); },
      [&] { return left.load(); }));
  left = true;
  a.clear();
  EXPECT_EQ(answer.get_future().get().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(reads_, 1);
}

TEST_F(AdapterStoreTest, FindsByNameOnlyWhatLiesInside) {
  make({});
  write("group/inner", "inner");
  write("bad", "bad");
  fs::create_directory(folder_ / "empty");
  const fs::path outside = folder_.string() + "_outside";
  fs::create_directory(outside);
  std::ofstream(outside / "adapter_config.json") << "outside";
  fs::create_symlink(outside, folder_ / "link");
  EXPECT_EQ(get("group/inner")[0].adapter->key(), "inner");
  for (const std::string name : {"", ".", "..", "a/../b", "./a", "a/", "/a", "link", "empty", "none", "group//inner"}) {
    EXPECT_EQ(store_->find(name).or_throw(), nullptr) << name;
  }
  EXPECT_EQ(store_->find(folder_ / "a").or_throw(), nullptr);
  EXPECT_EQ(store_->find(std::string("a\0b", 3)).or_throw(), nullptr);
  EXPECT_EQ(ask({"bad"}).get().error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(store_->knows("bad"));
  write("bad", "good");
  EXPECT_EQ(get("bad")[0].generation, 1) << "a failure is not kept";
  fs::remove_all(outside);
}

TEST_F(AdapterStoreTest, AClaimHoldsNothingBeforeItIsTaken) {
  make({.count = 1});
  EXPECT_FALSE(store_->known({store_->find("a").or_throw()})) << "its files were never read";
  get("a");
  const AdapterRef a = store_->find("a").or_throw();
  EXPECT_EQ(store_->known({a}).value()[0].key, "content of a");
  get("b");
  AdapterClaim claim(store_, {a});
  EXPECT_EQ(resident(), std::set<std::string>{"b"});
  EXPECT_FALSE(claim.take(false)) << "it was not asked for";
  EXPECT_EQ(reads_, 2);
  std::optional<Answer> taken = claim.take(true);
  for (; !taken; taken = claim.take(false)) std::this_thread::yield();
  EXPECT_EQ((**taken)[0].adapter->key(), "content of a");
  EXPECT_EQ((**taken)[0].generation, 1);
}

TEST_F(AdapterStoreTest, AClaimThatGoesWithdrawsItsAsk) {
  make({.count = 1});
  get("b");
  auto held = get("a");
  {
    AdapterClaim claim(store_, {store_->find("b").or_throw()});
    EXPECT_FALSE(claim.take(true));
  }
  held.clear();
  get("c");  // asked for later, so the store has looked at the claim
  EXPECT_EQ(reads_, 3);
}

// Requests with adapters in memory pass one that waits as often whether they are claimed or not.
TEST_F(AdapterStoreTest, ClaimsDoNotPassOneThatWaitsForever) {
  make({.count = 1});
  get("b");
  auto held = get("a");
  auto waiting = ask({"b"});
  EXPECT_TRUE(waits(waiting));
  const AdapterRef a = store_->find("a").or_throw();
  int passed = 0;
  while (passed < 1000 && AdapterClaim(store_, {a}).take(false)) ++passed;
  EXPECT_EQ(passed, 64);
  held.clear();
  EXPECT_EQ(waiting.get().or_throw()[0].adapter->key(), "content of b");
}

TEST_F(AdapterStoreTest, StopEndsWhatWaits) {
  make({.count = 1});
  auto a = get("a");
  auto b = ask({"b"});
  store_->stop();
  EXPECT_EQ(b.get().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(ask({"a"}).get().error().code, ErrorCode::kUnavailable);
  store_.reset();
  EXPECT_EQ(a[0].adapter->key(), "content of a");
}

// Everything at once: no request ever gets anything but what its name stood for.
TEST_F(AdapterStoreTest, ThreadsOfRequestsAndChanges) {
  make({.count = 3});
  for (int version = 0; version < 4; ++version) write(fmt::format("v{}", version), fmt::format("version {}", version));
  std::atomic<bool> ending = false;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      while (!ending) {
        const std::string name(1, static_cast<char>('a' + random() % 5));
        {  // a request has all its adapters at once: one that held some and asked for more could wait forever
          const auto leases = ask({name}).get();
          ASSERT_TRUE(leases) << leases.error().message;
          EXPECT_EQ((*leases)[0].adapter->key(), "content of " + name);
        }
        if (const AdapterRef x = store_->find("x").or_throw()) {
          const auto got = ask_all({x}).get();
          ASSERT_TRUE(got) << got.error().message;
          EXPECT_EQ((*got)[0].adapter->key(), "version " + fs::path(x->path).filename().string().substr(1));
        }
      }
    });
  }
  std::mt19937 random(9);
  for (int i = 0; i < 300; ++i) {
    const std::string path = fmt::format("v{}", random() % 4);
    EXPECT_TRUE(load("x", path, {.replace = true}));
    if (random() % 3 == 0) {
      EXPECT_TRUE(store_->remove("x"));
    }
  }
  ending = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(store_->figures().resident, 3);
}

// Also where another thread has looked it up meanwhile, and though its files are there.
TEST_F(AdapterStoreTest, ARemovedNameIsUnknownUntilItIsLoadedAgain) {
  AdapterStore& store = make({});
  get("a");
  const AdapterRef before = store.find("a").or_throw();
  EXPECT_TRUE(store.remove("a"));
  EXPECT_EQ(store.find("a").or_throw(), nullptr);
  EXPECT_FALSE(store.knows("a"));
  EXPECT_NE(store.find("b").or_throw(), nullptr);
  ASSERT_TRUE(load("a", "a"));
  EXPECT_NE(store.find("a").or_throw(), nullptr);
  EXPECT_NE(store.find("a").or_throw(), before);
}

}  // namespace
}  // namespace millrace::model
