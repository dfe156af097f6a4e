#include "serve/serve_flags.h"
#include "cli.h"

#include <arpa/inet.h>

#include <cstdlib>

#include "base/log.h"
#include "metrics/slo.h"
#include "option_heading.h"
#include "server/observe/metric_aliases.h"
#include "servers/owner_socket.h"
#include "size_option.h"

namespace millrace::app {
namespace {

constexpr std::uint64_t kMaxKeyFileBytes = 1 << 20;

bool is_address(const std::string& host) {
  in6_addr parsed{};
  return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1 || ::inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

}  // namespace

void ServeFlags::declare(CLI::App& app) {
  declare_listening(app);
  declare_access(app);
  declare_operation(app);
  declare_observation(app);
  declare_limits(app);
}

void ServeFlags::declare_listening(CLI::App& app) {
  const OptionHeading heading(app, "Server");
  app.add_option("--host", host,
                 "IP address or host name to listen on: 127.0.0.1 = this machine only, 0.0.0.0 = all interfaces")
      ->envname("MILLRACE_HOST");
  app.add_option("--port", port, "TCP port to listen on; 0 = a free one, which is printed")
      ->envname("MILLRACE_PORT")
      ->check(CLI::Range(0, 65535));
  app.add_option("--uds", uds, "Path of a Unix domain socket to listen on instead of --host and --port")
      ->type_name("FILE");
  app.add_option("--io-threads", io_threads, "Number of I/O threads that serve all HTTP connections")
      ->check(CLI::Range(1, 64));
  app.add_option("--ssl-certfile,--ssl-cert-file", tls_cert,
                 "PEM file of the TLS certificate chain; reloaded on SIGHUP")
      ->type_name("FILE");
  app.add_option("--ssl-keyfile,--ssl-key-file", tls_key, "PEM file of the private key to --ssl-certfile")
      ->type_name("FILE");
}

void ServeFlags::declare_access(CLI::App& app) {
  const OptionHeading heading(app, "Access");
  app.add_option(
         "--api-key", api_key,
         "API key with all scopes; other users of this machine can read it here, so prefer the environment variable")
      ->envname("MILLRACE_API_KEY");
  app.add_option("--api-key-file", api_key_file,
                 "File of API keys, one per line: KEY [tenant=NAME] [scopes=infer,admin,metrics] "
                 "[adapters=NAME,...] [rpm=N] [tpm=N] [concurrent=N]; reloaded on SIGHUP")
      ->type_name("FILE");
  app.add_flag("--insecure-no-auth", insecure_no_auth, "Allow requests from other machines without any API key");
  app.add_flag("--open-metrics", open_metrics, "Serve /metrics without an API key");
  app.add_flag("--strict-params", strict_params, "Reject requests that have unknown fields");
  app.add_flag("--keep-billing-header", keep_billing_header,
               "Keep Claude Code's x-anthropic-billing-header in the prompt, though it changes with each turn");
  app.add_option(
         "--allowed-hosts", allowed_hosts,
         "Accepted Host headers, comma-separated; default: loopback names only where no API key is set, else any")
      ->delimiter(',');
  app.add_option(
         "--allowed-origins", allowed_origins,
         "Web origins allowed by CORS, comma-separated; localhost = loopback origins at any port; default localhost if "
         "--host is a loopback address, else none; none = no other origin")
      ->delimiter(',');
}

void ServeFlags::declare_operation(CLI::App& app) {
  const OptionHeading heading(app, "Operation");
  app.add_option("--shutdown-timeout", shutdown_timeout,
                 "Seconds that running requests may take to finish after SIGTERM")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("--step-timeout", step_timeout,
                 "Max seconds of one engine step; a step that takes longer ends the process with exit code 70")
      ->check(CLI::Range(0.1, 86400.0));
  app.add_option("--model-idle-timeout", model_idle_timeout,
                 "Seconds without a request after which a model is unloaded; 0 = never")
      ->check(CLI::Range(0.0, 1e9));
  add_size_option(
      app, "--model-memory", memory_cap,
      "Max memory of all loaded models together, e.g. 16GB; idle models are unloaded to make room; 0 = no limit");
}

void ServeFlags::declare_observation(CLI::App& app) {
  const OptionHeading heading(app, "Logs, traces and metrics");
  app.add_option("--log-format", log_format, "Format of log lines: text or json")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--log-requests,!--disable-log-requests", log_requests,
               "Log one line per request, without prompts and completions");
  app.add_option("--trace-file", trace_file,
                 "Write a trace of scheduler steps and requests to this file, to view in ui.perfetto.dev")
      ->type_name("FILE");
  app.add_option("--otlp-traces-endpoint", otlp_endpoint,
                 "URL of an OpenTelemetry collector that trace spans are sent to (OTLP over HTTP)");
  app.add_option(
      "--metrics-compat", metrics_compat,
      "Metric names that /metrics offers besides vLLM's, comma-separated: sglang, llamacpp, or vllm for none");
  app.add_option(
         "--goodput", goodput,
         "SLO that /metrics counts goodput by, in milliseconds, e.g. ttft:500,tpot:50,e2el:5000; may be repeated")
      ->allow_extra_args(false);
}

void ServeFlags::declare_limits(CLI::App& app) {
  const OptionHeading heading(app, "Limits of connections");
  add_size_option(app, "--max-body-bytes", limits.body_bytes, "Max bytes of a request body, e.g. 8MB");
  app.add_option("--max-connections", limits.connections, "Max open HTTP connections; 0 = no limit")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--max-connections-per-client", limits.connections_per_peer,
                 "Max open HTTP connections per client address, loopback exempt; 0 = no limit")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--header-timeout", limits.header_seconds,
                 "Max seconds from the first byte of a request to the end of its headers")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--body-timeout", limits.body_idle_seconds, "Max seconds between two pieces of a request body")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--write-timeout", limits.write_idle_seconds,
                 "Max seconds that a client may read nothing of a response before it is disconnected")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--keep-alive-timeout", limits.keep_alive_seconds,
                 "Max seconds that a connection may stay idle between two requests")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--sse-keep-alive-interval,--sse-ping-interval", limits.stream_keep_alive_seconds,
                 "Seconds without output after which an SSE stream gets a keep-alive comment")
      ->check(CLI::Range(0.1, 3600.0));
}

http::ServerConfig ServeFlags::server() const {
  return {.host = host,
          .port = port,
          .unix_socket = uds,
          .owner_socket = owner_socket_to_listen_on(),
          .tls_cert = tls_cert,
          .tls_key = tls_key,
          .threads = io_threads,
          .limits = limits};
}

server::ServiceConfig ServeFlags::service() const {
  server::ServiceConfig config;
  config.strict_params = strict_params;
  config.open_metrics = open_metrics;
  config.keep_billing_header = keep_billing_header;
  config.allowed_hosts = allowed_hosts;
  if (allowed_hosts.empty() && api_key.empty() && api_key_file.empty() && is_loopback(host)) {
    config.allowed_hosts = {"localhost", "127.0.0.1", "[::1]", host};  // a page elsewhere may point its name here
  }
  config.allowed_origins = allowed_origins;
  if (allowed_origins.empty() && uds.empty() && is_loopback(host)) {
    config.allowed_origins = {"localhost"};  // pages that this machine itself serves, as ollama allows them
  } else if (allowed_origins == std::vector<std::string>{"none"}) {
    config.allowed_origins.clear();
  }
  config.step_seconds = step_timeout;
  config.version = MILLRACE_VERSION;
  return config;
}

server::HostConfig ServeFlags::host_config() const {
  return {.idle_seconds = model_idle_timeout, .memory_cap = memory_cap};
}

server::observe::LogWriter::Config ServeFlags::log() const {
  using server::observe::LogFormat;
  return {.format = log_format == "json" ? LogFormat::kJson : LogFormat::kText, .colour = log::colour()};
}

server::ObserverConfig ServeFlags::observers(std::vector<std::string> tenants) const {
  server::ObserverConfig config;
  config.log_requests = log_requests;
  config.trace_file = trace_file;
  config.otlp_endpoint = otlp_endpoint;
  config.metrics.version = MILLRACE_VERSION;
  config.metrics.tenants = std::move(tenants);
  config.metrics.compat = server::observe::parse_metrics_compat(metrics_compat).or_throw();
  for (const std::string& one : goodput) {  // each is an objective of its own
    const auto objectives = metrics::parse_slos("goodput", std::span(&one, 1)).or_throw();
    config.metrics.objectives.insert(config.metrics.objectives.end(), objectives.begin(), objectives.end());
  }
  return config;
}

Result<std::string> ServeFlags::key_file() const { return read_file(Env::system(), api_key_file, kMaxKeyFileBytes); }

server::Access ServeFlags::access() const {
  std::vector<std::string> plain;
  if (!api_key.empty()) plain.push_back(api_key);
  std::string file;
  if (!api_key_file.empty()) file = key_file().or_throw();
  auto loaded = server::Access::load(file, plain, Env::system().random_seed());
  if (!loaded && !api_key_file.empty()) {
    throw_load_error(loaded.error().code, loaded.error().param, "{}: {}", api_key_file, loaded.error().message);
  }
  server::Access access = std::move(loaded).or_throw();
  if (!access.has_keys() && !api_key_file.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "api-key-file", "{}: holds no key", api_key_file);
  }
  const bool is_reachable = uds.empty() && !is_loopback(host) && is_address(host);  // what is no address is no place
  if (!access.has_keys() && is_reachable && !insecure_no_auth) {
    throw_load_error(ErrorCode::kInvalidArgument, "host",
                     "{} is reachable from elsewhere and there is no API key: set MILLRACE_API_KEY or --api-key-file, "
                     "or say --insecure-no-auth",
                     host);
  }
  return access;
}

}  // namespace millrace::app
