#pragma once

#include <string>
#include <vector>

namespace millrace::server {

struct ServiceConfig {
  bool strict_params = false;                // unknown fields are errors, not a header
  bool keep_billing_header = false;          // Claude Code's, in prompts (billing_header.h)
  bool open_metrics = false;                 // /metrics needs no key
  bool enable_sessions = true;               // routes of interactive sessions
  std::vector<std::string> allowed_hosts;    // of the Host header; empty = any
  std::vector<std::string> allowed_origins;  // of browsers; "localhost" stands for any port of this machine
  int prep_threads = 2;
  double step_seconds = 60.0;  // an engine whose step takes longer has failed: prompts come in chunks
  std::string version;
};

}  // namespace millrace::server
