#include "runtime/adapter_config.h"

#include <gtest/gtest.h>

namespace millrace::runtime {
namespace {

template <typename Change>
std::string complaint_of_adapters(Change change) {
  AdapterConfig config;
  change(config);
  const auto valid = config.validate();
  return valid ? "" : valid.error().message;
}

TEST(AdapterConfig, NamesTheFieldTheValueAndTheLimit) {
  EXPECT_EQ(complaint_of_adapters([](AdapterConfig&) {}), "");
  EXPECT_EQ(complaint_of_adapters([](AdapterConfig& c) { c.max_loras = -1; }),
            "max-loras is -1: must be between 0 and 1048576");
  EXPECT_EQ(complaint_of_adapters([](AdapterConfig& c) { c.lora_full = "x"; }),
            "lora-full is 'x': expected one of queue, reject");
  EXPECT_EQ(complaint_of_adapters([](AdapterConfig& c) { c.lora_unload_waiting = "x"; }),
            "lora-unload-waiting is 'x': expected one of finish, reject");
  EXPECT_EQ(complaint_of_adapters([](AdapterConfig& c) {
              c.lora = {{"a", "x"}, {"b", "y"}};
              c.max_loras = 1;
            }),
            "max-loras is 1, less than the 2 adapters that lora names, which stay in memory");
}

TEST(AdapterConfig, IsWhatTheStoreGets) {
  const auto store =
      AdapterConfig{
          .lora_dir = "d", .max_loras = 3, .lora_memory = 5, .lora_full = "reject", .lora_unload_waiting = "reject"}
          .store();
  EXPECT_EQ(store.limits.count, 3);
  EXPECT_EQ(store.limits.bytes, 5);
  EXPECT_EQ(store.directory, "d");
  EXPECT_EQ(store.when_full, model::WhenFull::kReject);
  EXPECT_EQ(store.waiting, model::WaitingRequests::kReject);
  EXPECT_EQ(AdapterConfig{}.store().when_full, model::WhenFull::kQueue);
  EXPECT_EQ(AdapterConfig{}.store().waiting, model::WaitingRequests::kFinish);
}

}  // namespace
}  // namespace millrace::runtime
