// Requests that get their adapters when their turn comes: in which order, and what waits meanwhile.

#include "engine/testing/engine_fixture.h"
#include "engine/testing/made_adapters.h"
#include "model/adapters/adapter_store.h"

namespace millrace::engine {
namespace {

class AdapterClaimsTest : public EngineTest {
 protected:
  AdapterClaimsTest() : EngineTest(kModel) {}
  // A store of "a", "b" and "c", which reads when the test says so and has one in memory at once.
  void SetUp() override {
    EngineTest::SetUp();
    store_ =
        std::make_shared<model::AdapterStore>(Env::system(), model::AdapterStore::Read(),
                                              model::AdapterStore::Config{.limits = {.count = 1}, .own_thread = false});
    for (unsigned seed = 1; seed <= 3; ++seed) {
      const std::string name(1, static_cast<char>('a' + seed - 1));
      contents_[name] = made_adapter(transformer_, *backend_, seed);
      store_->load_files(name, name, {}, [](const auto& card) { EXPECT_TRUE(card); });
      read_all();
    }
  }
  std::unique_ptr<Engine> made(const Config& config = {}) {
    auto engine = make(config, 4096);
    executor_->set_adapters(store_);
    return engine;
  }
  void read_all() {
    while (const model::AdapterRef version = store_->next_read()) {
      reads_ += version->path;
      store_->arrived(model::AdapterContent{contents_.at(version->path)});
    }
  }
  Request claiming(const std::string& name, int priority = 0) {
    Request r = request(70, 4);
    const model::AdapterRef version = store_->find(name).or_throw();
    r.adapters = {{.key = version->key}};
    r.priority = priority;
    return r;
  }
  Request holding(const std::string& name) {
    Request r = request(70, 4);
    r.adapters = {{.key = contents_.at(name)->key(), .adapter = contents_.at(name)}};
    return r;
  }
  std::vector<std::int32_t> alone(const std::string& name) {
    adapters_->put(name, "", contents_.at(name));
    const auto engine = make();
    const RequestId id = engine->submit(holding(name)).or_throw();
    return drain(*engine)[id].tokens;
  }
  // Steps and reads until all have ended; the ids in the order of their ends.
  std::vector<RequestId> serve(Engine& engine) {
    std::vector<RequestId> order;
    for (int step = 0; step < 200 && !engine.idle(); ++step) {
      for (Output& output : engine.step()) {
        if (output.token) tokens_[output.request].push_back(*output.token);
        if (!output.last) continue;
        order.push_back(output.request);
        ended_[output.request] = std::move(output);
      }
      read_all();
    }
    EXPECT_TRUE(engine.idle());
    engine.check_integrity();
    return order;
  }

  std::map<std::string, std::shared_ptr<const model::Adapter>> contents_;
  std::shared_ptr<model::AdapterStore> store_;
  std::string reads_;
  std::map<RequestId, std::vector<std::int32_t>> tokens_;
  std::map<RequestId, Output> ended_;
};

TEST_F(AdapterClaimsTest, AreTakenOneAfterTheOtherAndOthersPass) {
  const auto engine = made();
  const RequestId a = engine->submit(claiming("a")).or_throw();
  const RequestId b = engine->submit(claiming("b")).or_throw();
  const RequestId again = engine->submit(claiming("a")).or_throw();
  const RequestId plain = engine->submit(request(70, 4)).or_throw();
  EXPECT_EQ(serve(*engine).front(), plain);
  for (const RequestId id : {a, again}) EXPECT_EQ(tokens_[id], alone("a"));
  EXPECT_EQ(tokens_[b], alone("b"));
  EXPECT_EQ(reads_, "abcab") << "a once for both";
  EXPECT_GT(ended_[b].spent->adapters_ms, 0.0);
  EXPECT_EQ(ended_[plain].spent->adapters_ms, 0.0);
  EXPECT_NEAR(ended_[b].spent->total_ms(), milliseconds_between(ended_[b].stats.arrival, ended_[b].stats.last_token),
              1.0);
  EXPECT_EQ(store_->figures().resident, 1);
}

TEST_F(AdapterClaimsTest, GoInThePolicysOrder) {
  Config config;
  config.policy = "priority";
  const auto engine = made(config);
  const RequestId late = engine->submit(claiming("a", 5)).or_throw(),
                  soon = engine->submit(claiming("b", 1)).or_throw();
  EXPECT_EQ(serve(*engine), (std::vector{soon, late}));
  EXPECT_EQ(reads_, "abcba");
}

TEST_F(AdapterClaimsTest, OfThoseThatCannotBeHadEndTheirRequestsAlone) {
  const auto engine = made();
  const RequestId a = engine->submit(claiming("a")).or_throw(), b = engine->submit(claiming("b")).or_throw();
  contents_["a"] = contents_.at("c");  // its files have changed
  serve(*engine);
  ASSERT_TRUE(ended_[a].error);
  EXPECT_EQ(ended_[a].error->param, "lora_name");
  EXPECT_TRUE(tokens_[a].empty());
  EXPECT_EQ(tokens_[b], alone("b"));
}

TEST_F(AdapterClaimsTest, AreWithdrawnWithTheirRequests) {
  const auto engine = made();
  const RequestId a = engine->submit(claiming("a")).or_throw();
  engine->step();
  EXPECT_FALSE(engine->transfers().export_sequence(a, *std::make_unique<std::vector<Output>>()));
  engine->cancel(a);
  engine->step();
  EXPECT_TRUE(engine->idle());
  read_all();
  EXPECT_EQ(reads_, "abc");
}

// What was asked for before more urgent requests came, more than the front of the line has room for, is not read.
TEST_F(AdapterClaimsTest, AreWithdrawnByThoseThatLoseTheirPlace) {
  Config config;
  config.policy = "priority";
  const auto engine = made(config);
  auto held = store_->take_resident({store_->find("c").or_throw()});  // nothing can be read meanwhile
  ASSERT_TRUE(held);
  const RequestId last = engine->submit(claiming("a", 5)).or_throw();
  engine->step();
  EXPECT_EQ(store_->next_read(), nullptr);
  std::vector<RequestId> soon;
  for (int i = 0; i < 16; ++i) soon.push_back(engine->submit(claiming("b", 1)).or_throw());
  engine->step();
  held.reset();
  const std::vector<RequestId> order = serve(*engine);
  EXPECT_EQ(reads_, "abcba");
  EXPECT_EQ(order.back(), last);
}

TEST_F(AdapterClaimsTest, KeepTheVersionThatTheirNameStoodFor) {
  const auto engine = made();
  const RequestId old = engine->submit(claiming("a")).or_throw();
  const auto expected = alone("a");
  contents_["new"] = contents_.at("c");
  store_->load_files("a", "new", {.replace = true}, [](const auto& card) { EXPECT_TRUE(card); });
  read_all();
  const RequestId renewed = engine->submit(claiming("a")).or_throw();
  serve(*engine);
  EXPECT_EQ(tokens_[old], expected);
  EXPECT_EQ(tokens_[renewed], alone("new"));
  EXPECT_EQ(ended_[renewed].stats.cached_tokens, 0);
}

// A session goes on with pages of its adapters: they must be there.
TEST_F(AdapterClaimsTest, AreNotForSessions) {
  const auto engine = made();
  contents_.erase("a");  // which is not in memory then
  Request r = claiming("a");
  r.session = engine->sessions().open();
  EXPECT_EQ(engine->submit(std::move(r)).error().param, "lora");
}

}  // namespace
}  // namespace millrace::engine
