// Requests with adapters: what is theirs alone, and that nothing computed with one adapter is used with another.

#include "engine/testing/engine_fixture.h"
#include "engine/testing/made_adapters.h"

namespace millrace::engine {
namespace {

class AdaptersTest : public EngineTest {
 protected:
  std::shared_ptr<const model::Adapter> made(unsigned seed) {
    return made_adapter(*checkpoint_, transformer_, *backend_, seed);
  }
  std::vector<AdapterUse> uses(const std::shared_ptr<const model::Adapter>& adapter, float scale = 1.0f) {
    if (adapters_->of_id(adapter->id()) == nullptr) adapters_->put(adapter->key(), "", adapter);
    return {{.key = adapter->key(), .scale = scale, .adapter = adapter}};
  }
  Request with(std::vector<AdapterUse> adapters) {
    Request r = request(70, 4);
    r.adapters = std::move(adapters);
    return r;
  }
  static Collected answer(Engine& engine, Request request) {
    const RequestId id = engine.submit(std::move(request)).or_throw();
    return drain(engine)[id];
  }
};

TEST_F(AdaptersTest, OfOtherContentOrScaleHaveNoPrefixInCommon) {
  const auto first = made(1), second = made(2);
  const auto engine = make();
  const auto tokens = [&](std::vector<AdapterUse> adapters) {
    return answer(*make(), with(std::move(adapters))).tokens;  // alone
  };
  std::set<std::vector<std::int32_t>> different;
  for (const std::vector<AdapterUse>& adapters :
       {std::vector<AdapterUse>(), uses(first), uses(second), uses(first, 0.5f)}) {
    const Collected computed = answer(*engine, with(adapters)), found = answer(*engine, with(adapters));
    EXPECT_EQ(computed.last.stats.cached_tokens, 0);
    EXPECT_GT(found.last.stats.cached_tokens, 0);
    EXPECT_EQ(computed.tokens, tokens(adapters));
    EXPECT_EQ(found.tokens, computed.tokens);
    different.insert(computed.tokens);
  }
  EXPECT_EQ(different.size(), 4u);
}

// The name is nothing that pages know of: what counts is the content.
TEST_F(AdaptersTest, ReplacedUnderTheirNamesShareNothingWithTheOld) {
  adapters_->put("x", "", made(1));
  const auto engine = make();
  const auto old = adapters_->find("x");
  const Collected before = answer(*engine, with(uses(old)));
  adapters_->put("x", "", made(2));
  const Collected after = answer(*engine, with(uses(adapters_->find("x"))));
  EXPECT_EQ(after.last.stats.cached_tokens, 0);
  EXPECT_NE(after.tokens, before.tokens);
  adapters_->put("x", "", made(1));  // read again: another object, the same content
  EXPECT_NE(adapters_->find("x")->id(), old->id());
  const Collected again = answer(*engine, with(uses(adapters_->find("x"))));
  EXPECT_GT(again.last.stats.cached_tokens, 0);
  EXPECT_EQ(again.tokens, before.tokens);
}

// A request keeps its adapter, whatever becomes of the name, and nobody else does.
TEST_F(AdaptersTest, LiveUntilTheLastRequestEnds) {
  adapters_->put("x", "", made(1));
  const Collected expected = answer(*make(), with(uses(adapters_->find("x"))));
  const auto engine = make();
  std::weak_ptr<const model::Adapter> living = adapters_->find("x");
  const RequestId id = engine->submit(with(uses(adapters_->find("x")))).or_throw();
  std::vector<std::int32_t> tokens;
  for (const Output& output : engine->step()) tokens.push_back(output.token.value());
  EXPECT_TRUE(adapters_->remove("x"));
  EXPECT_FALSE(adapters_->remove("x"));
  EXPECT_FALSE(living.expired());
  const auto rest = drain(*engine);
  for (const std::int32_t token : rest.at(id).tokens) tokens.push_back(token);
  EXPECT_EQ(tokens, expected.tokens);
  EXPECT_TRUE(living.expired());
}

TEST_F(AdaptersTest, ChangedWithinASessionComputeItAgain) {
  const auto adapter = made(1);
  const auto engine = make();
  const SessionId session = engine->sessions().open();
  const auto in_session = [&](std::vector<AdapterUse> adapters) {
    Request r = with(std::move(adapters));
    r.session = session;
    return answer(*engine, std::move(r));
  };
  in_session({});
  EXPECT_GT(in_session({}).last.stats.cached_tokens, 0);
  const Collected adapted = in_session(uses(adapter));
  EXPECT_EQ(adapted.last.stats.cached_tokens, 0);
  EXPECT_EQ(adapted.tokens, answer(*make(), with(uses(adapter))).tokens);
}

TEST_F(AdaptersTest, MoveWithTheirRequestsByContent) {
  adapters_->put("x", "", made(1));
  const Collected expected = answer(*make(), with(uses(adapters_->find("x"))));
  const auto from = make();
  const RequestId id = from->submit(with(uses(adapters_->find("x")))).or_throw();
  for (int i = 0; i < 5; ++i) from->step();
  std::vector<Output> last;
  auto snapshot = from->transfers().export_sequence(id, last).or_throw();
  for (AdapterUse& use : snapshot.request.adapters) use.adapter = nullptr;  // as it comes out of bytes
  const auto to = make();
  const auto imported = to->transfers().import_sequence(snapshot).or_throw();
  std::vector<std::int32_t> tokens = snapshot.answers[0].tokens;
  const Collected rest = drain(*to)[imported.request];
  tokens.insert(tokens.end(), rest.tokens.begin(), rest.tokens.end());
  EXPECT_EQ(tokens, expected.tokens);
  snapshot.request.adapters[0].key = "0123";
  const auto nowhere = to->transfers().import_sequence(snapshot);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().param, "lora");
}

TEST_F(AdaptersTest, ThatCannotGoTogetherAreRejected) {
  const auto adapter = made(1);
  const auto engine = make();
  const auto rejected = [&](std::vector<AdapterUse> adapters) {
    const auto submitted = engine->submit(with(std::move(adapters)));
    EXPECT_FALSE(submitted);
    return submitted ? std::string() : submitted.error().param;
  };
  EXPECT_EQ(rejected({uses(adapter)[0], uses(adapter)[0]}), "lora");
  EXPECT_EQ(rejected(uses(adapter, std::numeric_limits<float>::quiet_NaN())), "lora");
  EXPECT_EQ(rejected({{.key = "unknown"}}), "lora");
  EXPECT_EQ(rejected(std::vector<AdapterUse>(5)), "lora");
  EXPECT_TRUE(engine->idle());
}

}  // namespace
}  // namespace millrace::engine
