// Requests with adapters: what is theirs alone, and that nothing computed with one adapter is used with another.

#include <algorithm>

#include "base/memory_env.h"
#include "engine/testing/engine_fixture.h"
#include "engine/testing/failing_executor.h"
#include "engine/testing/made_adapters.h"

namespace millrace::engine {
namespace {

class AdaptersTest : public EngineTest {
 protected:
  AdaptersTest() : EngineTest(kModel) {}
  std::shared_ptr<const model::Adapter> made(unsigned seed) { return made_adapter(transformer_, *backend_, seed); }
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

class ActivatedAdaptersTest : public AdaptersTest {
 protected:
  static constexpr std::int64_t kPage = 32;
  static constexpr std::int32_t kFirst = 7, kSecond = 9;
  std::shared_ptr<const model::Adapter> activated(unsigned seed) {
    return made_adapter(transformer_, *backend_, seed, 4, {kFirst, kSecond});
  }
  // A prompt with the invocation at these places and nowhere else.
  Request invoked(std::vector<AdapterUse> adapters, std::size_t length, std::initializer_list<std::size_t> places) {
    Request r = request(length, 4);
    std::ranges::replace(r.tokens, kFirst, kFirst + 1);
    for (const std::size_t at : places) r.tokens[at] = kFirst, r.tokens[at + 1] = kSecond;
    r.adapters = std::move(adapters);
    return r;
  }
  std::vector<std::int32_t> alone(const Request& request) { return answer(*make(), request).tokens; }
};

// Pages that end before the invocation are those of the base, whichever request computed them; that of the invocation
// is not.
TEST_F(ActivatedAdaptersTest, SharePagesBeforeTheirInvocation) {
  const auto first = activated(1), second = activated(2);
  const auto plain = made(3);
  const std::vector<std::vector<AdapterUse>> kinds = {{}, uses(first), uses(second), uses(first, 0.5f)};
  std::set<std::vector<std::int32_t>> different;
  for (std::size_t begins = 0; begins < kinds.size(); ++begins) {
    const auto engine = make();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const Request asked = invoked(kinds[(begins + i) % kinds.size()], 130, {70});
      const Collected computed = answer(*engine, asked), found = answer(*engine, asked);
      EXPECT_EQ(computed.last.stats.cached_tokens, i == 0 ? 0 : 2 * kPage);
      EXPECT_EQ(found.last.stats.cached_tokens, 129);
      EXPECT_EQ(computed.tokens, alone(asked));
      EXPECT_EQ(found.tokens, computed.tokens);
      different.insert(computed.tokens);
    }
    EXPECT_EQ(answer(*engine, invoked(uses(plain), 130, {70})).last.stats.cached_tokens, 0);
    engine->check_integrity();
  }
  EXPECT_EQ(different.size(), kinds.size());
}

TEST_F(ActivatedAdaptersTest, ShareNoPageThatHasATokenOfTheirInvocation) {
  const auto adapter = activated(1);
  for (const auto& [at, shared] : {std::pair{31, 0L}, {32, kPage}, {62, kPage}, {63, kPage}, {64, 2 * kPage}}) {
    const auto engine = make();
    const auto place = static_cast<std::size_t>(at);
    answer(*engine, invoked({}, 130, {place}));
    const Request asked = invoked(uses(adapter), 130, {place});
    const Collected found = answer(*engine, asked);
    EXPECT_EQ(found.last.stats.cached_tokens, shared) << at;
    EXPECT_EQ(found.tokens, alone(asked)) << at;
  }
}

TEST_F(ActivatedAdaptersTest, BeginWithTheLastInvocationOfThePrompt) {
  const auto adapter = activated(1);
  const auto engine = make();
  EXPECT_EQ(answer(*engine, invoked(uses(adapter), 130, {20})).last.stats.cached_tokens, 0);
  const Request twice = invoked(uses(adapter), 130, {20, 70});
  EXPECT_EQ(answer(*engine, twice).last.stats.cached_tokens, 0);  // the page of the first invocation is the base's here
  EXPECT_EQ(answer(*engine, invoked({}, 130, {20, 70})).last.stats.cached_tokens, 2 * kPage);
  EXPECT_EQ(answer(*engine, twice).tokens, alone(twice));
  // Where another prompt ends between two invocations, the first one is its last, and the pages are others.
  Request shorter = twice;
  shorter.tokens.resize(70);
  const auto other = make();
  answer(*other, twice);
  const Collected found = answer(*other, shorter);
  EXPECT_EQ(found.last.stats.cached_tokens, 0);
  EXPECT_EQ(found.tokens, alone(shorter));
}

TEST_F(ActivatedAdaptersTest, AreNotUsedWhereNothingInvokesThem) {
  const auto engine = make();
  const Collected base = answer(*engine, invoked({}, 100, {}));
  const Collected found = answer(*engine, invoked(uses(activated(1)), 100, {}));
  EXPECT_EQ(found.tokens, base.tokens);
  EXPECT_EQ(found.last.stats.cached_tokens, 99);
}

// Also where the invocation begins the prompt, or is cut by the end of a step.
TEST_F(ActivatedAdaptersTest, ChangeTokensFromTheirInvocationOn) {
  const auto adapter = activated(1);
  for (const std::size_t at : {0, 1, 31, 32, 63, 98}) {
    const Request asked = invoked(uses(adapter), 100, {at});
    const auto engine = make();
    EXPECT_EQ(answer(*engine, asked).tokens, alone(asked)) << at;
    const auto with_plain = [&](bool before) {
      Request both = asked;
      both.adapters.insert(before ? both.adapters.begin() : both.adapters.end(), uses(made(3), 0.5f)[0]);
      return both;
    };
    EXPECT_EQ(answer(*engine, with_plain(true)).tokens, alone(with_plain(true))) << at;
    EXPECT_EQ(answer(*engine, with_plain(false)).tokens, alone(with_plain(false))) << at;
  }
}

TEST_F(ActivatedAdaptersTest, LeaveASessionWhatCameBefore) {
  const auto adapter = activated(1);
  const auto engine = make();
  const SessionId session = engine->sessions().open();
  const auto in_session = [&](Request r) {
    r.session = session;
    return answer(*engine, std::move(r));
  };
  in_session(invoked({}, 130, {70, 110}));
  const Request first = invoked(uses(adapter), 130, {70}), later = invoked(uses(adapter), 130, {70, 110});
  EXPECT_EQ(in_session(later).last.stats.cached_tokens, 3 * kPage);
  const Collected found = in_session(first);
  EXPECT_EQ(found.last.stats.cached_tokens, 2 * kPage);
  EXPECT_EQ(found.tokens, alone(first));
  EXPECT_EQ(in_session(later).tokens, alone(later));
  engine->check_integrity();
}

TEST_F(ActivatedAdaptersTest, MoveWithTheirRequests) {
  const Request asked = invoked(uses(activated(1)), 100, {50});
  const auto expected = alone(asked);
  const auto from = make(), to = make();
  const RequestId id = from->submit(asked).or_throw();
  for (int i = 0; i < 5; ++i) from->step();
  std::vector<Output> last;
  auto snapshot = from->transfers().export_sequence(id, last).or_throw();
  for (AdapterUse& use : snapshot.request.adapters) use.adapter = nullptr;
  answer(*to, invoked({}, 100, {50}));
  const auto imported = to->transfers().import_sequence(snapshot).or_throw();
  std::vector<std::int32_t> tokens = snapshot.answers[0].tokens;
  const Collected rest = drain(*to)[imported.request];
  tokens.insert(tokens.end(), rest.tokens.begin(), rest.tokens.end());
  EXPECT_EQ(tokens, expected);
  EXPECT_EQ(answer(*to, asked).last.stats.cached_tokens, 99);  // published as its own
}

// Pages on a disk belong to content too, whatever has the name when they are read.
TEST_F(ActivatedAdaptersTest, FindOnDiskWhatIsTheirsAndTheBases) {
  MemoryEnv env;
  // Of an engine that finds in memory nothing, and reads from the disk whatever it has.
  const auto restarted = [&](const Request& asked) {
    auto executor = LocalExecutor::create(transformer_, *backend_, {}, 4096).or_throw();
    executor->set_adapters(adapters_);
    kv::DiskTierConfig config{.directory = "/archive"};
    config.origin = {
        .model_key = 1, .page_bytes = executor->device().page_bytes(), .block_tokens = executor->block_tokens()};
    const auto disk = kv::DiskTier::open(env, config).or_throw();
    const auto engine = Engine::create(std::move(executor), tokenizer_, Env::system(), {}, disk.get()).or_throw();
    EXPECT_TRUE(engine->warm_up());
    return answer(*engine, asked);
  };
  const Request plain = invoked(uses(made(1)), 300, {200}), later = invoked(uses(activated(3)), 300, {200});
  adapters_->put("x", "", plain.adapters[0].adapter);
  const Collected of_plain = restarted(plain), of_later = restarted(later);
  EXPECT_EQ(of_plain.last.stats.cached_tokens, 0);
  EXPECT_EQ(of_later.last.stats.cached_tokens, 0);
  const auto expect = [&](const Request& asked, std::int64_t cached, const std::vector<std::int32_t>& tokens) {
    const Collected found = restarted(asked);
    EXPECT_EQ(found.last.stats.cached_tokens, cached);
    EXPECT_EQ(found.tokens, tokens);
  };
  adapters_->put("x", "", made(2));
  const Request renewed = invoked(uses(adapters_->find("x")), 300, {200});
  expect(renewed, 0, alone(renewed));
  expect(plain, 288, of_plain.tokens);
  expect(later, 288, of_later.tokens);
  const Request base = invoked({}, 300, {200}), another = invoked(uses(activated(4)), 300, {200});
  expect(another, 192, alone(another));
  expect(base, 192, alone(base));
}

// Fails in steps, and shares no adapter while it is told not to.
class UnsharingExecutor final : public FailingExecutor {
 public:
  explicit UnsharingExecutor(std::unique_ptr<Executor> inner) : FailingExecutor(std::move(inner), {}) {}
  Result<void> share(const model::Adapter& adapter) override {
    if (shares) return ForwardingExecutor::share(adapter);
    return make_error(ErrorCode::kUnavailable, "lora_name", "rank 1 cannot read it");
  }

  bool shares = true;
};

TEST_F(AdaptersTest, ThatCannotBeSharedEndTheirRequestsAlone) {
  const auto adapter = made(1);
  const auto expected = answer(*make(), with({})).tokens, adapted = answer(*make(), with(uses(adapter))).tokens;
  auto local = LocalExecutor::create(transformer_, *backend_, {}, 4096).or_throw();
  local->set_adapters(adapters_);
  auto made_executor = std::make_unique<UnsharingExecutor>(std::move(local));
  UnsharingExecutor& executor = *made_executor;
  const auto engine = Engine::create(std::move(made_executor), tokenizer_, Env::system(), {}, nullptr).or_throw();
  Request several = with(uses(adapter));
  several.n = 2;
  const RequestId plain = engine->submit(with({})).or_throw(), ended = engine->submit(several).or_throw();
  std::map<std::pair<RequestId, int>, std::vector<std::int32_t>> tokens;
  int errors = 0;
  for (int step = 0; !engine->idle(); ++step) {
    executor.shares = step < 5;
    if (step == 5) executor.fail_next("rank");
    for (const Output& output : engine->step()) {
      if (output.token) tokens[{output.request, output.choice}].push_back(*output.token);
      if (!output.error) continue;
      ++errors;
      EXPECT_EQ(output.request, ended);
      EXPECT_EQ(output.error->message, "rank 1 cannot read it");
    }
  }
  EXPECT_EQ(errors, 2);
  EXPECT_EQ((tokens[{plain, 0}]), expected);
  EXPECT_LT((tokens[{ended, 0}].size()), adapted.size());
  const auto refused = engine->submit(with(uses(adapter)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "lora_name");
  executor.shares = true;
  EXPECT_EQ(answer(*engine, with(uses(adapter))).tokens, adapted);
  engine->check_integrity();
}

// Two reasons to end in one step: the answer ends once, for the first of them.
TEST_F(AdaptersTest, ThatCannotBeSharedEndNoCancelledRequestTwice) {
  const auto adapter = made(1);
  auto local = LocalExecutor::create(transformer_, *backend_, {}, 4096, 2).or_throw();
  local->set_adapters(adapters_);
  auto made_executor = std::make_unique<UnsharingExecutor>(std::move(local));
  UnsharingExecutor& executor = *made_executor;
  const auto engine = Engine::create(std::move(made_executor), tokenizer_, Env::system(), {}, nullptr).or_throw();
  const RequestId id = engine->submit(with(uses(adapter))).or_throw();
  for (int step = 0; step < 4; ++step) engine->step();
  engine->cancel(id);
  executor.shares = false;
  executor.fail_next("rank");
  std::vector<FinishReason> ends;
  while (!engine->idle()) {
    for (const Output& output : engine->step()) ends.push_back(output.finish);
  }
  EXPECT_EQ(ends, std::vector{FinishReason::kCancelled});
  engine->check_integrity();
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
