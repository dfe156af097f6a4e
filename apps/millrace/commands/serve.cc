#include "base/log.h"
#include "cli.h"
#include "command.h"
#include "configuration.h"
#include "rank_process.h"
#include "serve/lifecycle.h"
#include "serve/serve_flags.h"
#include "serve/served_model.h"
#include "server/observe/log_writer.h"

namespace millrace::commands {
namespace {

struct ServeFlags {
  app::ServedModelsFlags models;
  app::ServeFlags serve;
};

int run(ServeFlags& flags) {
  app::hold_signals();
  server::observe::LogWriter writer(flags.serve.log());  // first, so that every line has the format of the log
  server::Access access = flags.serve.access();
  flags.models.model.hub.to_log = true;
  flags.models.engine.tenants = access.tenant_names();
  static_cast<void>(flags.models.engine.config());  // says what is wrong before anything starts
  // Before anything is loaded or written: another server may be there.
  auto listening = http::Server::listen(flags.serve.server()).or_throw();
  server::Observers observers(flags.serve.observers(access.tenant_names()), writer, Env::system());
  server::ServiceConfig config = flags.serve.service();
  config.address = flags.serve.uds.empty() ? fmt::format("{}://{}:{}", flags.serve.tls_cert.empty() ? "http" : "https",
                                                         flags.serve.host, listening->port())
                                           : "unix:" + flags.serve.uds;
  server::Service service(config, std::move(access), flags.models.entries(observers), flags.serve.host_config(),
                          observers, Env::system());
  const std::unique_ptr<http::Server> server = std::move(listening);  // ends before the service does
  service.count_connections([&] { return server->connections(); });
  server->serve(service);
  fmt::print("listening on {}\n", config.address);
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

// An error that ends the server has the format of its log.
int serve(ServeFlags& flags) {
  try {
    return run(flags);
  } catch (const LoadError& failure) {
    if (flags.serve.log_format != "json") throw;
    const std::string line =
        server::observe::format_line(server::observe::LogFormat::kJson, false, log::Level::kError,
                                     server::observe::LogWriter::WallClock::now(), failure.error().message, {});
    std::fputs(line.c_str(), stderr);
    return exit_code(failure.error().code);
  }
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
            return [flags, &app] {
              if (app::apply_configuration(app)) return 0;
              const std::optional<int> followed = app::follow_as_rank(app);  // the file may ask for it
              return followed ? *followed : serve(*flags);
            };
          },
          .log_level = "info",
          .example = "millrace serve default --port 8080"};
}

}  // namespace millrace::commands
