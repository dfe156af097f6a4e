#pragma once

#include <string>
#include <vector>

namespace millrace::server {

struct ServiceConfig {
  bool strict_params = false;                // unknown fields are errors instead of X-Ignored-Params
  bool keep_billing_header = false;          // keep Claude Code's line in prompts (billing_header.h)
  bool open_metrics = false;                 // /metrics needs no key
  bool enable_sessions = true;               // the routes of interactive sessions answer
  std::vector<std::string> allowed_hosts;    // allowed values of the Host header; empty = any
  std::vector<std::string> allowed_origins;  // allowed browser origins; "localhost" = any port of this machine
  int prep_threads = 2;
  double step_seconds = 60.0;  // an engine whose step takes longer counts as failed
  std::string version;
};

}  // namespace millrace::server
