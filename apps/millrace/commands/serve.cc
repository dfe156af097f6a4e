#include <atomic>

#include "base/log.h"
#include "cli.h"
#include "command.h"
#include "configuration.h"
#include "serve/lifecycle.h"
#include "serve/serve_flags.h"
#include "serve/served_model.h"

namespace millrace::commands {
namespace {

struct ServeFlags {
  app::ServedModelsFlags models;
  app::ServeFlags serve;
};

int serve(ServeFlags& flags) {
  app::hold_signals();
  server::Access access = flags.serve.access();
  flags.models.engine.tenants = access.tenant_names();
  static_cast<void>(flags.models.engine.config());  // says what is wrong before anything starts
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
  return app::run_until_told(*server, service, flags.serve.shutdown_timeout, [&] {
    const auto note = [](const char* what, const Result<void>& done) {
      done ? log::info("{} read again", what) : log::error("{} not read again: {}", what, done.error().message);
    };
    if (!flags.serve.tls_cert.empty()) note("certificate", server->reload_certificate());
    if (flags.serve.api_key_file.empty()) return;
    const auto text = flags.serve.key_file();
    note("keys", text ? service.reload_keys(*text) : text.error());
  });
}

}  // namespace

app::Command serve() {
  return {.name = "serve",
          .summary = "Serve models over HTTP with the OpenAI and Anthropic APIs",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<ServeFlags>();
            flags->serve.declare(app);
            flags->models.declare(app);
            app::declare_configuration(app);
            return [flags, &app] { return app::apply_configuration(app) ? 0 : serve(*flags); };
          },
          .log_level = "info",
          .example = "millrace serve default --port 8080"};
}

}  // namespace millrace::commands
