#include "model/weights/compressed_tensors_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace millrace::model {
namespace {

// A configuration of groups with these targets; group i has i + 2 bits.
nlohmann::json config_of(const std::vector<std::vector<std::string>>& targets) {
  nlohmann::json groups;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    groups["group_" + std::to_string(i)] = {{"targets", targets[i]}, {"weights", {{"num_bits", i + 2}}}};
  }
  return {{"config_groups", groups}};
}

std::string group_of(const std::vector<std::vector<std::string>>& targets, const std::string& module) {
  const nlohmann::json json = config_of(targets);
  try {
    return CompressedConfig(checkpoint::JsonFields("c.json", json)).scheme_of(module).group;
  } catch (const LoadError& e) {
    return e.what();
  }
}

TEST(CompressedConfig, ANameCountsBeforeExpressionsAndTheseBeforeClasses) {
  const std::vector<std::vector<std::string>> targets = {{"Linear"}, {"re:.*proj"}, {"a.q_proj"}};
  EXPECT_EQ(group_of(targets, "a.q_proj"), "group_2");
  EXPECT_EQ(group_of(targets, "b.q_proj"), "group_1");
  EXPECT_EQ(group_of(targets, "lm_head"), "group_0");
}

TEST(CompressedConfig, OfExpressionsTheFirstByTextCounts) {
  const std::vector<std::vector<std::string>> targets = {{"re:.*q_proj"}, {"re:.*[.]q_proj"}};
  EXPECT_EQ(group_of(targets, "a.q_proj"), "group_1");
}

TEST(CompressedConfig, ExpressionsMatchFromTheBeginningOfANameOn) {
  const std::vector<std::vector<std::string>> targets = {{"re:mlp"}};
  EXPECT_EQ(group_of(targets, "mlp.up_proj"), "group_0");
  EXPECT_EQ(group_of(targets, "model.mlp.up_proj"),
            "c.json: config_groups: no group names the module 'model.mlp.up_proj', which is quantized");
}

TEST(CompressedConfig, TwoGroupsCannotHaveOneName) {
  EXPECT_EQ(group_of({{"lm_head"}, {"re:.*", "lm_head"}}, "a"),
            "c.json: config_groups.group_1.targets: the module 'lm_head' is also a target of group_0");
}

TEST(CompressedConfig, NamesWhatItCannotRead) {
  const auto with = [](const char* field, const nlohmann::json& value) -> std::string {
    nlohmann::json json = config_of({{"Linear"}});
    json["config_groups"]["group_0"]["weights"][field] = value;
    try {
      CompressedConfig(checkpoint::JsonFields("c.json", json));
    } catch (const LoadError& e) {
      return e.what();
    }
    return "read";
  };
  const std::string where = "c.json: config_groups.group_0.weights.";
  EXPECT_EQ(with("num_bits", 9), where + "num_bits: 9; 2 to 8 expected");
  EXPECT_EQ(with("num_bits", 4294967300), where + "num_bits: 4294967300; 2 to 8 expected");
  EXPECT_EQ(with("group_size", -2), where + "group_size: -2; -1, or 1 to 1073741824 expected");
  EXPECT_EQ(with("block_structure", {1e30, 1}), "read");  // of no strategy that has blocks
}

}  // namespace
}  // namespace millrace::model
