#include <atomic>

#include "command.h"
#include "serve/lifecycle.h"
#include "serve/serve_flags.h"
#include "serve/served_model.h"

namespace millrace::commands {
namespace {

struct Flags {
  app::ServedModelsFlags models;
  app::ServeFlags serve;
};

int serve(const Flags& flags) {
  app::hold_signals();
  static_cast<void>(flags.models.engine.config());  // says what is wrong before anything starts
  server::Access access = flags.serve.access();
  server::Observers observers(flags.serve.observers(access.tenant_names()), Env::system());
  server::Service service(flags.serve.service(), std::move(access), flags.models.entries(observers),
                          flags.serve.host_config(), observers, Env::system());
  std::atomic<http::Server*> started = nullptr;
  service.count_connections([&] { return started != nullptr ? started.load()->connections() : 0; });
  const auto server = http::Server::start(flags.serve.server(), service).or_throw();
  started = server.get();
  if (flags.serve.uds.empty()) {
    fmt::print("listening on {}://{}:{}\n", flags.serve.tls_cert.empty() ? "http" : "https", flags.serve.host,
               server->port());
  } else {
    fmt::print("listening on unix:{}\n", flags.serve.uds);
  }
  std::fflush(stdout);
  return app::run_until_told(*server, service, flags.serve.shutdown_timeout);
}

}  // namespace

app::Command serve() {
  return {.name = "serve",
          .summary = "Serve a model over HTTP, as the OpenAI and Anthropic APIs have it",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<Flags>();
            flags->serve.declare(app);
            flags->models.declare(app);
            return [flags] { return serve(*flags); };
          },
          .log_level = "info"};
}

}  // namespace millrace::commands
