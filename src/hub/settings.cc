#include "hub/settings.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/lower_case.h"
#include "checkpoint/quote_name.h"
#include "hub/repository_file.h"
#include "hub/url.h"

namespace millrace::hub {
namespace {

std::string value(GetVariable get, const char* name) {
  const char* text = get(name);
  return text == nullptr ? "" : text;
}

// "~/x" as the shell reads it.
std::string path_value(GetVariable get, const char* name) {
  std::string path = value(get, name);
  if (path == "~" || path.starts_with("~/")) path.replace(0, 1, value(get, "HOME"));
  return path;
}

bool is_true(GetVariable get, const char* name) {
  const std::string text = lower_case(value(get, name));
  return text == "1" || text == "on" || text == "yes" || text == "true";
}

// $HF_HOME and its defaults.
std::string huggingface_home(GetVariable get) {
  if (const auto home = path_value(get, "HF_HOME"); !home.empty()) return home;
  if (const auto cache = path_value(get, "XDG_CACHE_HOME"); !cache.empty()) return cache + "/huggingface";
  if (const auto home = value(get, "HOME"); !home.empty()) return home + "/.cache/huggingface";
  return {};
}

std::string trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// A token goes into a header: one line of visible ASCII, whatever the variable or file holds.
Result<void> set_token(const std::string& text, const std::string& source, HubSettings& settings) {
  const std::string token = trimmed(text);
  if (!std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7F; })) {
    return make_error(ErrorCode::kInvalidArgument, "HF_TOKEN", "{}: a token is one word of visible ASCII characters",
                      source);
  }
  settings.token = token;
  settings.token_source = source;
  return {};
}

Result<void> read_token(GetVariable get, Env& env, HubSettings& settings) {
  constexpr std::uint64_t kMaxTokenBytes = 4096;
  if (is_true(get, "HF_HUB_DISABLE_IMPLICIT_TOKEN")) return {};
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const auto token = value(get, name); !trimmed(token).empty()) return set_token(token, name, settings);
  }
  std::string path = path_value(get, "HF_TOKEN_PATH");
  if (path.empty()) {
    const std::string home = huggingface_home(get);
    if (home.empty()) return {};
    path = home + "/token";
  }
  const auto text = read_file(env, path, kMaxTokenBytes);
  if (text) return trimmed(*text).empty() ? Result<void>() : set_token(*text, path, settings);
  if (text.error().code == ErrorCode::kNotFound) return {};
  return text.error();
}

Result<void> read_timeout(GetVariable get, HubSettings& settings) {
  constexpr const char* kName = "HF_HUB_DOWNLOAD_TIMEOUT";
  const std::string text = value(get, kName);
  if (text.empty()) return {};
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 || seconds > 86400) {
    return make_error(ErrorCode::kInvalidArgument, kName, "{}: 1 to 86400 seconds expected, found {}", kName,
                      checkpoint::quote_name(text));
  }
  settings.stalled_seconds = seconds;
  return {};
}

Result<void> read_endpoint(GetVariable get, HubSettings& settings) {
  std::string text = trimmed(value(get, "HF_ENDPOINT"));
  while (text.ends_with('/')) text.pop_back();
  if (text.empty()) return {};
  if (auto url = parse_url(text); !url) {
    return make_error(ErrorCode::kInvalidArgument, "HF_ENDPOINT", "HF_ENDPOINT: {}", url.error().message);
  }
  settings.endpoint = text;
  return {};
}

}  // namespace

std::string huggingface_cache_root(GetVariable get) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (auto path = path_value(get, name); !path.empty()) return path;
  }
  const std::string home = huggingface_home(get);
  return home.empty() ? home : home + "/hub";
}

Result<HubSettings> hub_settings(GetVariable get, Env& env) {
  HubSettings settings;
  settings.cache_root = huggingface_cache_root(get);
  settings.offline = is_true(get, "HF_HUB_OFFLINE") || is_true(get, "TRANSFORMERS_OFFLINE");
  settings.progress = !is_true(get, "HF_HUB_DISABLE_PROGRESS_BARS");
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}) {
    if (settings.ca_file.empty()) settings.ca_file = path_value(get, name);
  }
  if (auto read = read_endpoint(get, settings); !read) return read.error();
  if (auto read = read_timeout(get, settings); !read) return read.error();
  if (auto read = read_token(get, env, settings); !read) return read.error();
  return settings;
}

}  // namespace millrace::hub
