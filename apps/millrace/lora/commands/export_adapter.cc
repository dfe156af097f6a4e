#include <fmt/ranges.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/cpu_quota.h"
#include "cli.h"
#include "command.h"
#include "model/adapters/adapter_export.h"
#include "model_flags.h"
#include "printable.h"
#include "runtime/adapter_config.h"

namespace millrace::lora::commands {
namespace {

using Json = nlohmann::ordered_json;

struct ExportFlags {
  std::string base, tuned, out;
  app::HubFlags hub;
  model::ExportOptions options;
  int threads = 0;
  bool json = false;
};

Json report_of(const ExportFlags& flags, const model::ExportedAdapter& made) {
  Json kinds = Json::object();
  for (const auto& [name, kind] : made.kinds) kinds[name] = {{"modules", kind.modules}, {"error", kind.error()}};
  return {{"path", flags.out},       {"rank", made.rank},
          {"modules", made.modules}, {"bytes", made.files.weights.size()},
          {"kinds", kinds},          {"left_out", made.left_out}};
}

void print(const ExportFlags& flags, const model::ExportedAdapter& made) {
  std::printf("%s: rank %lld, %lld modules\n", app::printable(flags.out).c_str(), static_cast<long long>(made.rank),
              static_cast<long long>(made.modules));
  for (const auto& [name, kind] : made.kinds) {
    std::printf("  %-20s %4lld modules, error %.2e of the difference\n", app::printable(name).c_str(),
                static_cast<long long>(kind.modules), kind.error());
  }
}

int make(const ExportFlags& flags) {
  const auto base = app::open_model(flags.base, flags.hub), tuned = app::open_model(flags.tuned, flags.hub);
  WorkerTeam team(flags.threads > 0 ? flags.threads : usable_threads());
  const model::ExportedAdapter made = model::export_adapter(*base, *tuned, flags.options, team);
  model::write_peft_adapter(flags.out, made.files).or_throw();
  if (!made.left_out.empty()) {
    std::fprintf(stderr, "%zu tensors differ and are not in the adapter, the first is '%s'\n", made.left_out.size(),
                 app::printable(made.left_out.front()).c_str());
  }
  if (flags.json) {
    std::printf("%s\n", report_of(flags, made).dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    print(flags, made);
  }
  return 0;
}

}  // namespace

app::Command export_adapter() {
  return {
      .name = "export",
      .summary = "Write the difference of two models as an adapter",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto flags = std::make_shared<ExportFlags>();
        app.add_option("base", flags->base, "Model that the adapter will be one of")->type_name("MODEL")->required();
        app.add_option("tuned", flags->tuned, "Model of the same shape that the base is to become")
            ->type_name("MODEL")
            ->required();
        app.add_option("-o,--out", flags->out, "Output: a new directory, as PEFT saves adapters")
            ->type_name("DIR")
            ->required();
        app.add_option("--rank", flags->options.rank, "Rank of the adapter; a higher one leaves less out")
            ->check(CLI::Range(std::int64_t{1}, runtime::kMaxLoraRank));
        app.add_option("--modules", flags->options.kinds,
                       "Linear layers to export, such as q_proj,v_proj; default all that differ")
            ->delimiter(',')
            ->allow_extra_args(false);
        app.add_option("-t,--threads", flags->threads,
                       "Worker threads, which do not change the output; 0 = all processors")
            ->check(CLI::Range(0, 1024));
        app.add_flag("--json", flags->json, "Print the result as one JSON object");
        flags->hub.declare(app);
        return [flags] { return make(*flags); };
      },
      .example = "millrace lora export org/base org/tuned --rank 32 -o adapters/tuned"};
}

}  // namespace millrace::lora::commands
