#include "model/rank_plan.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "comm/forwarding_communicator.h"
#include "model/testing/random_tokens.h"
#include "model/testing/shared_runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

// Adds up what a rank publishes.
class CountsExchanges final : public comm::ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  std::uint64_t publish(const Block& block) noexcept override {
    constexpr std::size_t kChecksum = 8;  // of each rank's part
    ++count;
    (block.leader_only ? logit_bytes : row_bytes) +=
        static_cast<std::int64_t>(block.ends.back() - block.ends.size() * kChecksum);
    return inner_->publish(block);
  }
  std::int64_t count = 0, row_bytes = 0, logit_bytes = 0;
};

// Of one row of one sequence, at rank 0.
std::shared_ptr<CountsExchanges> exchanges_of(const std::string& path, const Ranks& ranks, bool* has_codes = nullptr) {
  std::shared_ptr<CountsExchanges> counted;
  run_shared(
      path, {.max_length = 8}, ranks,
      [&](TestRunner& runner) {
        runner.run_whole(random_tokens(1, 1));
        if (has_codes != nullptr) *has_codes = runner.transformer().linears().front()->has_int8_activations();
      },
      {},
      [&](std::shared_ptr<comm::Communicator> group) -> std::shared_ptr<comm::Communicator> {
        if (group->rank() != 0) return group;
        return counted = std::make_shared<CountsExchanges>(std::move(group));
      });
  return counted;
}

// For every family.
TEST(RankPlan, SaysWhatRanksExchange) {
  int compared = 0;
  for (const fs::directory_entry& folder : fs::directory_iterator(MILLRACE_TEST_DATA "/../golden/families")) {
    const std::string path = folder.path();
    SCOPED_TRACE(path);
    const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
    const auto spec = make_spec(*checkpoint);
    if (!spec || max_ranks(path) < 2) continue;
    for (const Ranks& ranks : {Ranks{.shares = {1, 1}}, {.shares = {2, 1}, .stages = 2}}) {
      if (ranks.stages > std::ssize(spec->layers)) continue;
      const auto shards = Shards::make(*spec, ranks.shares, ranks.stages).or_throw();
      const auto counted = exchanges_of(path, ranks);
      const PlannedExchanges planned = plan_exchanges(*spec, shards, 0);
      EXPECT_EQ(planned.count, counted->count) << ranks.stages;
      EXPECT_EQ(planned.row_bytes, counted->row_bytes) << ranks.stages;
      EXPECT_EQ(planned.logit_bytes, counted->logit_bytes) << ranks.stages;
      ++compared;
    }
  }
  EXPECT_GT(compared, 20);
}

// What goes into quantized products is exchanged in their form: 48 bytes for each group of 32.
TEST(RankPlan, CodesAreFewerBytes) {
  const std::string path = MILLRACE_TEST_DATA "/../golden/quantized/awq_gemm_g32";
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  const ModelSpec spec = make_spec(*checkpoint).or_throw();
  bool has_codes = false;
  const auto counted = exchanges_of(path, {.shares = {1, 1}}, &has_codes);
  const auto shards = Shards::make(spec, std::vector<double>{1, 1}).or_throw();
  constexpr std::int64_t kHeads = 4 * 16, kHidden = 96;
  const std::int64_t coded = has_codes ? std::ssize(spec.layers) * (kHeads + kHidden) : 0;
  EXPECT_EQ(counted->row_bytes, plan_exchanges(spec, shards, 0).row_bytes - coded * 4 + coded / 32 * 48);
}

}  // namespace
}  // namespace millrace::model
