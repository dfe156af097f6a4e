#pragma once

#include <string>

#include "base/env.h"

namespace millrace::hub {

// Where the hub is and how to use it, from the environment variables of the hub's own client. Read once, in apps/.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a final slash
  std::string token, token_source;  // HF_TOKEN, or the file HF_TOKEN_PATH or $HF_HOME/token; may be empty
  std::string cache_root;           // empty = unknown
  bool offline = false;             // HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE
  bool progress = true;             // HF_HUB_DISABLE_PROGRESS_BARS
  int stalled_seconds = 30;         // HF_HUB_DOWNLOAD_TIMEOUT
  std::string ca_file;              // SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE
};

// `get` is getenv, or a substitute in tests: libraries below apps/ do not read the environment.
using GetVariable = const char* (*)(const char* name);
Result<HubSettings> hub_settings(GetVariable get, Env& env);

// The cache's root: the first that is set of HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
// $XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub; empty without any.
std::string huggingface_cache_root(GetVariable get);

}  // namespace millrace::hub
