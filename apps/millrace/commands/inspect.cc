#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "command.h"
#include "inspect/model_report.h"
#include "inspect/printed_report.h"
#include "model_flags.h"

namespace millrace::commands {
namespace {

using Json = nlohmann::ordered_json;

struct InspectFlags {
  app::ModelFlags model;
  app::PredictionFlags prediction;
  bool json = false, tensors = false, chat_template = false;
};

int inspect(const InspectFlags& flags) {
  flags.model.ranks.validate().or_throw();
  if (!flags.prediction.model_speed.empty() && flags.model.ranks.ranks() == 1) {
    throw_load_error(ErrorCode::kInvalidArgument, "model-speed",
                     "--model-speed predicts steps of ranks: it needs --tensor-parallel-size or "
                     "--pipeline-parallel-size");
  }
  const auto checkpoint = app::open_model(flags.model.model, flags.model.hub);
  if (flags.chat_template) {
    const std::string_view source = checkpoint->chat_templates.default_source();
    std::fwrite(source.data(), 1, source.size(), stdout);
    return 0;
  }
  const Json report = app::model_report(*checkpoint, flags.model, flags.prediction, flags.tensors);
  if (flags.json) {
    std::printf("%s\n", report.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    app::print_report(report);
  }
  return 0;
}

}  // namespace

app::Command inspect() {
  return {.name = "inspect",
          .summary = "Show a model's architecture, tensors and memory use",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<InspectFlags>();
            app.add_option("model", flags->model.model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
            CLI::Option* json = app.add_flag("--json", flags->json, "Print the result as one JSON object");
            CLI::Option* tensors = app.add_flag("--tensors", flags->tensors, "List every tensor of the model");
            app.add_flag("--template", flags->chat_template, "Print only the chat template, in full")
                ->excludes(json)
                ->excludes(tensors);
            flags->model.declare(app);
            auto* speed = app.add_option("--model-speed", flags->prediction.model_speed,
                                         "File with the output of `millrace doctor --model-speed MODEL` on one host: "
                                         "predicts how long steps take on ranks")
                              ->type_name("FILE");
            app.add_option("--link-speed", flags->prediction.link_speed,
                           "File with the output of `millrace doctor --link-speed`, for that; default measures two "
                           "processes of this host")
                ->type_name("FILE")
                ->needs(speed);
            app.add_option("--hosts", flags->prediction.hosts, "How many hosts, all alike, the ranks are on, for that")
                ->check(CLI::Range(1, runtime::kMaxRanks))
                ->needs(speed);
            return [flags] { return inspect(*flags); };
          },
          .example = "millrace inspect model.gguf --tensors"};
}

}  // namespace millrace::commands
