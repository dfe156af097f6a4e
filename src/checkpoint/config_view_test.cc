#include "checkpoint/config_view.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace millrace::checkpoint {
namespace {

constexpr ConfigField kSize{.json = {"hidden_size", "n_embd"}, .gguf = {"embedding_length"}};
constexpr ConfigField kScale{.json = {"residual_scale"}, .gguf = {"residual_scale"}, .neutral = "1.0"};
constexpr ConfigField kCross{.json = {"cross_attention"}};
constexpr ConfigField kFree{.json = {"window_layers"}, .neutral = "*"};

template <typename Action>
std::string outcome_of(Action action) {
  try {
    action();
    return "good";
  } catch (const LoadError& e) {
    return e.what();
  }
}

ConfigFile json_file(nlohmann::json fields) {
  fields["architectures"] = {"NovelForCausalLM"};
  return read_config_json("config.json", fields.dump());
}

ConfigFile gguf_file(const std::vector<GgufEntry>& entries) {
  GgufMetadata metadata("m.gguf");
  metadata.add("general.architecture", std::string("novel"));
  for (const auto& [key, value] : entries) metadata.add(key, value);
  return read_config_metadata(metadata);
}

TEST(ConfigView, TakesTheFirstSpellingThatIsThere) {
  const ConfigFile both = json_file({{"n_embd", 3}, {"hidden_size", 5}}), old = json_file({{"n_embd", 3}});
  const ConfigFile null = json_file({{"n_embd", 3}, {"hidden_size", nullptr}});
  EXPECT_EQ(ConfigView(both).integer(kSize), 5);
  EXPECT_EQ(ConfigView(old).integer(kSize), 3);
  EXPECT_EQ(ConfigView(null).integer(kSize), 3);
  EXPECT_EQ(ConfigView(gguf_file({{"novel.embedding_length", std::uint32_t{7}}})).integer(kSize), 7);
}

TEST(ConfigView, NamesFieldValueLimitAndFile) {
  const ConfigFile low = json_file({{"n_embd", 0}}), none = json_file({}), text = json_file({{"n_embd", "9"}});
  EXPECT_EQ(outcome_of([&] { ConfigView(low).required_integer(kSize, kCounts); }),
            "config.json: n_embd: expected 1 to 2147483647, found 0");
  EXPECT_EQ(outcome_of([&] { ConfigView(none).required_integer(kSize); }),
            "config.json: required field hidden_size is missing");
  EXPECT_EQ(outcome_of([&] { ConfigView(text).required_integer(kSize); }),
            "config.json: n_embd: expected an integer below 2^63, found string");
  const ConfigFile high = gguf_file({{"novel.embedding_length", std::uint32_t{1u << 31}}}), empty = gguf_file({});
  EXPECT_EQ(outcome_of([&] { ConfigView(high).required_integer(kSize, kCounts); }),
            "m.gguf: key 'novel.embedding_length': expected 1 to 2147483647, found 2147483648");
  EXPECT_EQ(outcome_of([&] { ConfigView(empty).required_integer(kSize); }),
            "m.gguf: required key 'novel.embedding_length' is missing");
  const ConfigFile nan = json_file({{"residual_scale", {{"__float__", "NaN"}}}});
  EXPECT_EQ(outcome_of([&] { ConfigView(nan).positive_number(kScale); }),
            "config.json: residual_scale: expected a positive number, found nan");
}

TEST(ConfigView, StopsOverAKnownFieldThatSaysSomethingAndWasNotRead) {
  const auto check = [](const ConfigFile& file, bool read) {
    return outcome_of([&] {
      ConfigView view(file);
      if (read) view.number(kScale);
      const ConfigField known[] = {kScale, kFree, kCross};
      view.check_unread(known);
    });
  };
  const ConfigFile scaled = json_file({{"residual_scale", 0.5}});
  EXPECT_EQ(check(scaled, false),
            "config.json: residual_scale: a NovelForCausalLM model does not have this, and other models change by it");
  EXPECT_EQ(check(scaled, true), "good");
  for (const nlohmann::json& value : {nlohmann::json(1), nlohmann::json(1.0), nlohmann::json(nullptr)}) {
    EXPECT_EQ(check(json_file({{"residual_scale", value}}), false), "good") << value;
  }
  EXPECT_NE(check(json_file({{"residual_scale", 0}}), false), "good");
  for (const nlohmann::json& value : {nlohmann::json(0), nlohmann::json(false), nlohmann::json(nullptr)}) {
    EXPECT_EQ(check(json_file({{"cross_attention", value}}), false), "good") << value;
  }
  EXPECT_NE(check(json_file({{"cross_attention", true}}), false), "good");
  EXPECT_EQ(check(json_file({{"window_layers", 7}, {"anything_else", 7}}), false), "good");
  EXPECT_EQ(check(gguf_file({{"novel.residual_scale", 1.0f}}), false), "good");
  EXPECT_EQ(check(gguf_file({{"novel.residual_scale", 0.5f}}), false),
            "m.gguf: key 'novel.residual_scale': a novel model does not have this, and other models change by it");
}

TEST(ConfigView, ListsWhatNobodyAskedFor) {
  const ConfigFile file = json_file({{"hidden_size", 5}, {"torch_dtype", "float32"}, {"nothing", nullptr}});
  ConfigView view(file);
  view.integer(kSize);
  EXPECT_EQ(view.unread(), (std::vector<std::string>{"torch_dtype"}));
}

}  // namespace
}  // namespace millrace::checkpoint
