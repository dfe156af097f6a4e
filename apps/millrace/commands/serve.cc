#include <atomic>

#include "command.h"
#include "serve/lifecycle.h"
#include "serve/serve_flags.h"
#include "serve/served_model.h"

namespace millrace::commands {
namespace {

struct Flags {
  app::ModelFlags model;
  app::EngineFlags engine;
  app::ServeFlags serve;
};

std::vector<server::ModelEntry> entries_of(const Flags& flags, server::Observers& observers) {
  std::vector<server::ModelEntry> entries;
  const std::string& name = flags.serve.served_model_name.empty() ? flags.model.model : flags.serve.served_model_name;
  entries.push_back(app::served_model(name, {}, flags.model, flags.engine, observers));
  for (const std::string& pair : flags.serve.models) {
    const std::size_t mark = pair.find('=');
    if (mark == 0 || mark == std::string::npos || mark + 1 == pair.size()) {
      throw_load_error(ErrorCode::kInvalidArgument, "model", "--model {}: expected NAME=REFERENCE", pair);
    }
    app::ModelFlags model = flags.model;
    model.model = pair.substr(mark + 1);
    entries.push_back(app::served_model(pair.substr(0, mark), {}, model, flags.engine, observers));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (entries[i].name != entries[j].name) continue;
      throw_load_error(ErrorCode::kInvalidArgument, "model", "two models are named {}", entries[i].name);
    }
  }
  return entries;
}

int serve(const Flags& flags) {
  app::hold_signals();
  static_cast<void>(flags.engine.config());  // says what is wrong before anything starts
  server::Access access = flags.serve.access();
  server::Observers observers(flags.serve.observers(access.tenant_names()), Env::system());
  server::Service service(flags.serve.service(), std::move(access), entries_of(flags, observers),
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
            app.add_option("model_reference", flags->model.model, "Model: .gguf, directory, org/name, or 'default'");
            flags->serve.declare(app);
            flags->engine.declare(app);
            flags->model.declare(app);
            return [flags] { return serve(*flags); };
          },
          .log_level = "info"};
}

}  // namespace millrace::commands
