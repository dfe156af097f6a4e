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

// Flags of `serve` besides those of models and engines. They have the names of `vllm serve`, and some of llama-server's
// as aliases. Fields without a comment are explained by `millrace serve --help`.
struct ServeFlags {
  std::string host = "127.0.0.1", uds;  // uds: path of a Unix socket to listen on instead; empty: TCP
  int port = 8000, io_threads = 1;      // port: [0, 65535], 0 = any free one; io_threads: [1, 64]
  std::string tls_cert, tls_key;
  std::string api_key, api_key_file;
  bool insecure_no_auth = false, open_metrics = false, strict_params = false, keep_billing_header = false;
  std::vector<std::string> allowed_hosts, allowed_origins;
  double shutdown_timeout = 30.0;  // seconds
  double step_timeout = server::ServiceConfig().step_seconds;
  double model_idle_timeout = 0.0;  // seconds; 0 = models are never unloaded
  std::uint64_t memory_cap = 0;     // bytes of all loaded models; 0 = no limit
  std::string log_format = "text", trace_file, otlp_endpoint, metrics_compat = "vllm";
  bool log_requests = true;
  std::vector<std::string> goodput;  // an SLO each, in milliseconds: "ttft:500,tpot:50"
  http::Limits limits;

  void declare(CLI::App& app);
  http::ServerConfig server() const;
  // Restricts the Host header to loopback names if no API key is given, the address is loopback and --allowed-hosts is
  // absent. Allows web origins of this machine if the address is loopback and --allowed-origins is absent.
  server::ServiceConfig service() const;
  server::HostConfig host_config() const;
  server::observe::LogWriter::Config log() const;
  // Throws LoadError naming --goodput or --metrics-compat.
  server::ObserverConfig observers(std::vector<std::string> tenants) const;
  // Reads the API keys. Throws LoadError (kInvalidArgument) if the key file holds none, and if the server would listen
  // beyond loopback without a key and without --insecure-no-auth.
  server::Access access() const;
  // Reads the file of --api-key-file anew. The limit is 1 MiB.
  Result<std::string> key_file() const;

 private:
  // Called in the order in which --help lists the flags.
  void declare_listening(CLI::App& app);
  void declare_access(CLI::App& app);
  void declare_operation(CLI::App& app);  // times and memory
  void declare_observation(CLI::App& app);
  void declare_limits(CLI::App& app);  // of connections
};

}  // namespace millrace::app
