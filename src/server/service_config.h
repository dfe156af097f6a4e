#pragma once

#include <string>
#include <vector>

namespace millrace::server {

struct ServiceConfig {
  bool strict_params = false;              // unknown fields of a body are errors instead of ignored
  bool keep_billing_header = false;        // keeps Claude Code's header in prompts (billing_header.h)
  bool open_metrics = false;               // /metrics needs no key
  bool enable_sessions = true;             // enables the routes of interactive sessions
  std::vector<std::string> allowed_hosts;  // names in the header Host, without ports; empty = any
  // "localhost" stands for every loopback name of this machine, with any scheme and port.
  std::vector<std::string> allowed_origins;  // values of the header Origin
  int prep_threads = 2;                      // threads that prepare requests
  double step_seconds = 60.0;                // an engine that is in one step for longer counts as failed
  std::string version;                       // of the server, for /version and the OpenAPI document
  std::string address;                       // that it listens on, as a URL or "unix:PATH", for /version; "" = unknown
};

}  // namespace millrace::server
