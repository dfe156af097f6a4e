// Adapters of experts that PEFT wrote, in one batch: every request gets what it gets alone.

#include <set>

#include "engine/testing/engine_fixture.h"
#include "model/adapters/load_adapter.h"

namespace millrace::engine {
namespace {

const std::string kGoldenFolder = std::string(MILLRACE_TEST_DATA) + "/../golden/";

class ExpertAdaptersInEngine : public EngineTest {
 protected:
  ExpertAdaptersInEngine() : EngineTest(kGoldenFolder + "families/qwen3_moe") {
    const model::AdapterLoader loader(*checkpoint_, transformer_, *backend_);
    for (const char* name : {"qwen3_moe_experts", "qwen3_moe_apart"}) {
      loaded_.push_back(loader.load(Env::system(), kGoldenFolder + "adapters/" + name, {}));
      adapters_->put(name, "", loaded_.back());
    }
  }
  AdapterUse use(std::size_t i, float scale) const { return {loaded_[i]->key(), scale, loaded_[i]}; }

  std::vector<std::shared_ptr<const model::Adapter>> loaded_;
};

TEST_F(ExpertAdaptersInEngine, GiveInABatchWhatTheyGiveAlone) {
  const std::vector<std::vector<AdapterUse>> kinds = {
      {}, {use(0, 1.0f)}, {use(1, 1.0f)}, {use(0, 0.5f), use(1, -0.7f)}};
  const auto asked = [&](std::size_t i) {
    Request r = request(20 + i / kinds.size(), static_cast<unsigned>(i / kinds.size()), 12);
    r.adapters = kinds[i % kinds.size()];
    return r;
  };
  constexpr std::size_t kRequests = 12;
  std::vector<std::vector<std::int32_t>> alone;
  for (std::size_t i = 0; i < kRequests; ++i) {
    const auto engine = make();
    const RequestId id = engine->submit(asked(i)).or_throw();
    alone.push_back(drain(*engine)[id].tokens);
  }
  const auto engine = make();
  std::vector<RequestId> ids;
  for (std::size_t i = 0; i < kRequests; ++i) ids.push_back(engine->submit(asked(i)).or_throw());
  const auto together = drain(*engine);
  for (std::size_t i = 0; i < kRequests; ++i) EXPECT_EQ(together.at(ids[i]).tokens, alone[i]) << i;
  EXPECT_EQ(std::set(alone.begin(), alone.begin() + 4).size(), 4u) << "each changes the tokens of one prompt";
}

}  // namespace
}  // namespace millrace::engine
