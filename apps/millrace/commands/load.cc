#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli.h"
#include "command.h"
#include "printable.h"
#include "screen/status_line.h"
#include "servers/chosen_model.h"

namespace millrace::commands {
namespace {

constexpr std::chrono::milliseconds kLook{100};

// Shows how far the model is loaded until `done`.
void show_progress(const app::ChosenModel& model, const std::function<bool()>& done) {
  app::ServerLink link = app::find_serving(model);
  screen::StatusLine status(screen::look_of(STDERR_FILENO), [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  });
  while (!done()) {
    double share = 0.0;
    const auto state = app::state_of(link, model.name, share);
    if (state && *state == "loading") {
      status.show(fmt::format("loading {}: {:.0f} %", app::printable(model.name), 100.0 * share));
    }
    std::this_thread::sleep_for(kLook);
  }
}

int load(const app::ChosenModel& model) {
  app::ServerLink link = app::find_serving(model);
  double share = 0.0;
  show_progress(model, [&] {  // of a start or of another's request
    const auto state = app::state_of(link, model.name, share);
    if (!state) throw LoadError(state.error());
    return *state != "loading";
  });
  std::atomic<bool> done = false;
  auto reply = std::async(std::launch::async, [&] {
    auto got = link.post("/models/load", {{"model", model.name}});
    done = true;
    return got;
  });
  show_progress(model, [&] { return done.load(); });
  reply.get().or_throw();
  fmt::print("{} is loaded\n", app::printable(model.name));
  return 0;
}

}  // namespace

app::Command load() {
  return {.name = "load",
          .summary = "Let a server load one of its models before the first request for it",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto model = std::make_shared<app::ChosenModel>();
            app::declare_chosen_model(app, *model, "Name of the model, as `millrace ps` lists it");
            return [model] { return load(*model); };
          },
          .example = "millrace load small"};
}

}  // namespace millrace::commands
