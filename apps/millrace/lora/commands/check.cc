#include <cstdio>
#include <nlohmann/json.hpp>

#include "adapter_flags.h"
#include "backend/cpu/cpu_backend.h"
#include "base/readable_bytes.h"
#include "cli.h"
#include "command.h"
#include "model/adapters/base_shapes.h"
#include "model_flags.h"
#include "printable.h"
#include "runtime/adapter_config.h"

namespace millrace::lora::commands {
namespace {

struct CheckFlags {
  std::string model;
  app::HubFlags hub;
  std::vector<std::string> adapters;
  runtime::AdapterConfig config;
  bool json = false;
};

// One adapter's line; false: it does not fit, which stderr says.
bool check_one(model::BaseShapes& base, const std::string& path, const CheckFlags& flags, nlohmann::ordered_json& all) {
  try {
    const auto adapter = base.load(Env::system(), app::adapter_path(path, flags.hub), flags.config.options());
    const model::AdapterSummary& summary = adapter->summary();
    all.push_back({{"path", path},
                   {"fits", true},
                   {"rank", summary.rank},
                   {"modules", summary.modules},
                   {"type", summary.type},
                   {"error", summary.error},
                   {"bytes", adapter->bytes()},
                   {"key", adapter->key()}});
    if (!summary.invocation_tokens.empty()) all.back()["invocation_tokens"] = summary.invocation_tokens;
    if (!flags.json) {
      std::printf("%s: fits: rank %lld, %lld modules, %s as %s, which changes values by %.2e of their size\n",
                  app::printable(path).c_str(), static_cast<long long>(summary.rank),
                  static_cast<long long>(summary.modules),
                  readable_bytes(static_cast<double>(adapter->bytes())).c_str(), summary.type.c_str(), summary.error);
      if (!summary.invocation_tokens.empty()) std::puts("  activated: used from its invocation tokens in a prompt on");
    }
    return true;
  } catch (const LoadError& failure) {
    all.push_back({{"path", path}, {"fits", false}, {"message", failure.error().message}});
    std::fprintf(stderr, "%s\n", app::printable(failure.error().message).c_str());
    return false;
  }
}

int check(const CheckFlags& flags) {
  const auto checkpoint = app::open_model(flags.model, flags.hub);
  model::BaseShapes base(*checkpoint, backend::cpu::make_cpu_backend({.threads = 1}).or_throw());
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  bool fit = true;
  for (const std::string& path : flags.adapters) fit = check_one(base, path, flags, all) && fit;
  if (flags.json) {
    const nlohmann::ordered_json report = {{"model", checkpoint->path}, {"adapters", all}};
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  }
  return fit ? 0 : 1;
}

}  // namespace

app::Command check() {
  return {.name = "check",
          .summary = "Say whether adapters fit a model, without loading its weights",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<CheckFlags>();
            app.add_option("model", flags->model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'")
                ->required();
            app.add_option("adapter", flags->adapters, "Adapters, as --lora of serve takes them")
                ->type_name("ADAPTER")
                ->required();
            app.add_option("--lora-dtype", flags->config.type,
                           "Data type of adapters in memory: auto (f32 for models in f32, else bf16), f32, bf16, or "
                           "int8 (A and B in 8 bits)")
                ->check(CLI::IsMember(runtime::adapter_types()));
            app.add_option("--max-lora-rank", flags->config.max_lora_rank,
                           "Max rank of an adapter; larger ones are rejected")
                ->check(CLI::Range(std::int64_t{1}, runtime::kMaxLoraRank));
            app.add_flag("--json", flags->json, "Print the result as one JSON object");
            flags->hub.declare(app);
            return [flags] { return check(*flags); };
          },
          .example = "millrace lora check org/base adapters/sql adapters/support"};
}

}  // namespace millrace::lora::commands
