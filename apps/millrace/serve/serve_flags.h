#pragma once

#include <string>
#include <vector>

#include "http/server.h"
#include "server/access.h"
#include "server/service.h"

namespace CLI {
class App;
}

namespace millrace::app {

// The flags of `serve` besides those of models and engines. Names are those of `vllm serve`; llama-server's names are
// aliases.
struct ServeFlags {
  std::string host = "127.0.0.1", uds;
  int port = 8000, io_threads = 1;
  std::string tls_cert, tls_key;
  std::string api_key, api_key_file;
  bool insecure_no_auth = false, open_metrics = false, strict_params = false, keep_billing_header = false;
  std::vector<std::string> allowed_hosts, allowed_origins;
  double shutdown_timeout = 30.0;  // seconds
  double step_timeout = server::ServiceConfig().step_seconds;
  double model_idle_timeout = 0.0;
  std::uint64_t memory_cap = 0;
  std::string log_format = "text", trace_file, otlp_endpoint, metrics_compat = "vllm";
  bool log_requests = true;
  std::vector<std::string> goodput;  // each is "ttft:500,tpot:50"
  http::Limits limits;

  void declare(CLI::App& app);
  http::ServerConfig server() const;
  server::ServiceConfig service() const;
  server::HostConfig host_config() const;
  server::ObserverConfig observers(std::vector<std::string> tenants) const;  // throws LoadError
  // Reads the keys. Throws LoadError, also without a key if the server listens beyond loopback.
  server::Access access() const;
  // The current text of --api-key-file.
  Result<std::string> key_file() const;

 private:
  // In the order of the help.
  void declare_listening(CLI::App& app);
  void declare_access(CLI::App& app);
  void declare_operation(CLI::App& app);  // times, memory, logs, traces, metrics
  void declare_limits(CLI::App& app);     // of connections
};

}  // namespace millrace::app
