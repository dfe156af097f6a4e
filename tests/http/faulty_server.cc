// A server whose model computes nothing and whose engine fails, hangs or dawdles when it is told to. Everything above
// the executor is what `millrace serve` runs.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "base/log.h"
#include "engine/engine_thread.h"
#include "serve/lifecycle.h"
#include "simulator/fake_executor.h"
#include "simulator/letter_tokenizer.h"

namespace {

using namespace millrace;

struct Flags {
  int port = 0;
  std::int64_t throw_at = 0, hang_at = 0, reject_at = 0;  // the number of a step; 0 = never
  double step_ms = 1.0, step_timeout = 60.0, keep_alive = 15.0;
};

// Step after step of this long; what the flags say of a step happens instead of it.
auto faults(const Flags& flags) {
  return [flags, step = std::int64_t{0}](const engine::StepInput&, std::span<float>) mutable -> Result<void> {
    ++step;
    if (step == flags.throw_at) throw std::runtime_error("told to fail");
    if (step == flags.reject_at) return Error{ErrorCode::kInternal, "device", "told to fail"};
    if (step == flags.hang_at) std::this_thread::sleep_for(std::chrono::hours(1));
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(flags.step_ms));
    return {};
  };
}

server::ModelEntry entry(const std::string& name, const Flags& flags, server::Observers& observers) {
  server::ModelEntry entry;
  entry.name = name;
  entry.load = [flags, name, &observers](const std::function<void(double)>&) {
    server::ModelParts parts;
    parts.tokenizer = simulator::letter_tokenizer();
    auto executor =
        std::make_unique<simulator::FakeExecutor>(simulator::FakeExecutor::Config{.pages = 1024}, faults(flags));
    auto engine = engine::Engine::create(std::move(executor), parts.tokenizer, Env::system(), {}).or_throw();
    engine->reporter().observe(observers.watch({.name = name}));
    parts.engine = std::make_unique<engine::EngineThread>(std::move(engine), parts.tokenizer, Env::system());
    return parts;
  };
  return entry;
}

int serve(const Flags& flags) {
  app::hold_signals();
  log::set_level(log::Level::kInfo);
  server::observe::LogWriter writer({});
  server::Observers observers({}, writer, Env::system());
  auto nobody = server::Access::load("", {}, 1).or_throw();
  server::Service service({.step_seconds = flags.step_timeout, .version = "faulty"}, std::move(nobody),
                          {entry("m", flags, observers)}, {}, observers, Env::system());
  http::ServerConfig config{.port = flags.port};
  config.limits.stream_keep_alive_seconds = flags.keep_alive;
  const auto server = http::Server::start(config, service).or_throw();
  std::printf("listening on http://127.0.0.1:%d\n", server->port());
  std::fflush(stdout);
  return app::run_until_told(*server, service, 5.0, [] {});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("a server for tests whose engine fails when told to");
  Flags flags;
  app.add_option("--port", flags.port, "0 = any free one");
  app.add_option("--throw-at", flags.throw_at, "The step at which the engine throws");
  app.add_option("--hang-at", flags.hang_at, "The step that never ends");
  app.add_option("--refuse-at", flags.reject_at, "The step that the device fails");
  app.add_option("--step-ms", flags.step_ms, "How long each step takes");
  app.add_option("--step-timeout", flags.step_timeout, "Seconds after which a step counts as hanging");
  app.add_option("--sse-keep-alive-interval", flags.keep_alive, "Seconds of silence before a comment");
  CLI11_PARSE(app, argc, argv);
  try {
    return serve(flags);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "faulty_server: %s\n", failure.what());
    return 1;
  }
}
