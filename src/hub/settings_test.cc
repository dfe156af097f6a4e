#include "hub/settings.h"

#include <gtest/gtest.h>

#include <map>

#include "base/memory_env.h"

namespace millrace::hub {
namespace {

std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> map;
  return map;
}
const char* get(const char* name) {
  const auto it = variables().find(name);
  return it == variables().end() ? nullptr : it->second.c_str();
}

HubSettings read(std::map<std::string, std::string> values, Env& env = Env::system()) {
  variables() = std::move(values);
  return hub_settings(get, env).or_throw();
}
std::string rejected(std::map<std::string, std::string> values) {
  variables() = std::move(values);
  const auto settings = hub_settings(get, Env::system());
  return settings ? "" : settings.error().message;
}

TEST(HubSettings, CacheFollowsTheOrderOfTheHubsClient) {
  EXPECT_EQ(read({}).cache_root, "");
  EXPECT_EQ(read({{"HOME", "/h"}}).cache_root, "/h/.cache/huggingface/hub");
  EXPECT_EQ(read({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).cache_root, "/x/huggingface/hub");
  EXPECT_EQ(read({{"HF_HOME", "/f"}, {"XDG_CACHE_HOME", "/x"}}).cache_root, "/f/hub");
  EXPECT_EQ(read({{"HF_HOME", "~/f"}, {"HOME", "/h"}}).cache_root, "/h/f/hub");
  EXPECT_EQ(read({{"HF_HOME", "/f"}, {"HUGGINGFACE_HUB_CACHE", "/old"}}).cache_root, "/old");
  EXPECT_EQ(read({{"HF_HUB_CACHE", "/new"}, {"HUGGINGFACE_HUB_CACHE", "/old"}}).cache_root, "/new");
}

TEST(HubSettings, EndpointLosesItsSlash) {
  EXPECT_EQ(read({}).endpoint, "https://huggingface.co");
  EXPECT_EQ(read({{"HF_ENDPOINT", "http://mirror:8080/hub/"}}).endpoint, "http://mirror:8080/hub");
  EXPECT_NE(rejected({{"HF_ENDPOINT", "ftp://mirror"}}).find("http or https"), std::string::npos);
}

TEST(HubSettings, TokenComesFromVariableThenFile) {
  MemoryEnv env;
  env.files["/h/.cache/huggingface/token"] = " hf_file\n";
  EXPECT_EQ(read({{"HOME", "/h"}}, env).token, "hf_file");
  EXPECT_EQ(read({{"HOME", "/h"}, {"HF_TOKEN", "hf_x\n"}}, env).token, "hf_x");
  EXPECT_EQ(read({{"HOME", "/h"}, {"HF_TOKEN", " "}}, env).token_source, "/h/.cache/huggingface/token");
  EXPECT_EQ(read({{"HOME", "/h"}, {"HF_TOKEN_PATH", "/none"}}, env).token, "");
  EXPECT_EQ(read({{"HF_TOKEN", "hf_x"}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}}).token, "");
}

TEST(HubSettings, ATokenThatWouldBreakTheHeaderIsRefusedWithoutShowingIt) {
  const std::string message = rejected({{"HF_TOKEN", "hf_a\r\nX-Evil: 1"}});
  EXPECT_NE(message.find("HF_TOKEN"), std::string::npos);
  EXPECT_EQ(message.find("hf_a"), std::string::npos);
}

TEST(HubSettings, SwitchesAndTimeouts) {
  EXPECT_FALSE(read({{"HF_HUB_OFFLINE", "0"}}).offline);
  EXPECT_TRUE(read({{"HF_HUB_OFFLINE", "True"}}).offline);
  EXPECT_TRUE(read({{"TRANSFORMERS_OFFLINE", "1"}}).offline);
  EXPECT_FALSE(read({{"HF_HUB_DISABLE_PROGRESS_BARS", "yes"}}).progress);
  EXPECT_EQ(read({{"HF_HUB_DOWNLOAD_TIMEOUT", "3"}}).stalled_seconds, 3);
  EXPECT_NE(rejected({{"HF_HUB_DOWNLOAD_TIMEOUT", "soon"}}), "");
}

}  // namespace
}  // namespace millrace::hub
