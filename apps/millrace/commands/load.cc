#include <chrono>
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

// Shows how far the model is loaded, until `done`; asks the server each time.
template <typename Done>
void show_progress(const app::ServerAddress& address, const std::string& model, const Done& done) {
  app::ServerLink link(address);
  screen::StatusLine status;
  for (;;) {
    const auto progress = app::progress_of(link, model).or_throw();
    if (done(progress.state)) return;
    if (progress.state == "loading") {
      status.show(fmt::format("loading {}: {:.0f} %", app::printable(model), 100.0 * progress.share));
    }
  }
}

int load(const app::ChosenModel& model) {
  constexpr std::chrono::milliseconds kLook{100};
  const app::ServerAddress address = app::find_serving(model);
  show_progress(address, model.name, [&](const std::string& state) {  // of a start or of another's request
    if (state == "loading") std::this_thread::sleep_for(kLook);
    return state != "loading";
  });
  auto reply = std::async(std::launch::async,
                          [&] { return app::ServerLink(address).post("/models/load", {{"model", model.name}}); });
  show_progress(address, model.name,
                [&](const std::string&) { return reply.wait_for(kLook) == std::future_status::ready; });
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
