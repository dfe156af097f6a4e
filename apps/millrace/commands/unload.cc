#include <nlohmann/json.hpp>

#include "cli.h"
#include "command.h"
#include "printable.h"
#include "servers/chosen_model.h"

namespace millrace::commands {

app::Command unload() {
  return {.name = "unload",
          .summary = "Let a server unload one of its models; the next request for it loads it again",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto model = std::make_shared<app::ChosenModel>();
            app::declare_chosen_model(app, *model, "Name of the model, as `millrace ps` lists it");
            return [model] {
              app::ServerLink(app::find_serving(*model)).post("/models/unload", {{"model", model->name}}).or_throw();
              fmt::print("{} is unloaded\n", app::printable(model->name));
              return 0;
            };
          },
          .example = "millrace unload small"};
}

}  // namespace millrace::commands
