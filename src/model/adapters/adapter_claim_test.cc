#include "model/adapters/adapter_claim.h"

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

// A store that reads when the test says so, with one adapter in memory at once.
class AdapterClaimTest : public testing::Test {
 protected:
  AdapterRef load(const std::string& name) {
    store_->load_files(name, name, {}, [](const auto& card) { EXPECT_TRUE(card); });
    EXPECT_EQ(store_->next_read()->path, name);
    arrives(name);
    EXPECT_EQ(store_->next_read(), nullptr);
    return store_->find(name).or_throw();
  }
  void arrives(const std::string& name) {
    std::vector<std::unique_ptr<backend::LowRank>> none;
    store_->arrived(AdapterContent{std::make_shared<const Adapter>(name, AdapterSummary{}, std::move(none))});
  }

  const std::shared_ptr<AdapterStore> store_ = std::make_shared<AdapterStore>(
      Env::system(), AdapterStore::Read(), AdapterStore::Config{.limits = {.count = 1}, .own_thread = false});
};

// Its client left while files were read, and its name is gone: no other would ever let it go.
TEST_F(AdapterClaimTest, ThatHasGoneLeavesNothingOfWhatWasReadForIt) {
  const AdapterRef x = load("x");
  load("y");  // x leaves memory
  {
    AdapterClaim claim(store_, {x});
    EXPECT_FALSE(claim.take(true));
    EXPECT_TRUE(store_->remove("x"));
    EXPECT_EQ(store_->next_read(), x);
  }
  arrives("x");
  EXPECT_EQ(store_->next_read(), nullptr);
  EXPECT_EQ(x->adapter, nullptr);
  EXPECT_EQ(store_->figures().resident, 0);
}

TEST_F(AdapterClaimTest, IsServedByWhatAnotherOneAskedFor) {
  const AdapterRef x = load("x");
  load("y");
  AdapterClaim first(store_, {x}), second(store_, {x});
  EXPECT_FALSE(first.take(true));
  EXPECT_FALSE(second.take(true));
  EXPECT_EQ(store_->next_read(), x);
  arrives("x");
  EXPECT_EQ(store_->next_read(), nullptr);
  EXPECT_TRUE(first.take(false));
  EXPECT_TRUE(second.take(false));
  EXPECT_EQ(store_->figures().misses, 2);
  EXPECT_EQ(store_->figures().hits, 0);
}

}  // namespace
}  // namespace millrace::model
