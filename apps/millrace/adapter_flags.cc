#include "adapter_flags.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/log.h"
#include "base/lower_case.h"
#include "cli.h"
#include "hub/model_choice.h"
#include "hub/reference.h"
#include "option_heading.h"
#include "size_option.h"

namespace millrace::app {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 4 << 20;

}  // namespace

void declare_adapters(CLI::App& app, runtime::AdapterConfig& adapters) {
  const OptionHeading heading(app, "Adapters");
  app.add_option_function<std::vector<std::string>>(
         "--lora,--lora-modules",
         [&adapters](const std::vector<std::string>& texts) {
           adapters.lora.clear();
           for (const std::string& text : texts) {
             auto named = runtime::parse_named_adapter("lora", text);
             if (!named) throw CLI::ValidationError("--lora", named.error().message);
             adapters.lora.push_back(*std::move(named));
           }
         },
         "LoRA adapter: a name, and the directory that PEFT saved it in, or org/name on the Hugging Face hub; of the "
         "first "
         "model, or as MODEL:NAME of the one that --model calls so. May be repeated")
      ->type_name("NAME=DIR")
      ->allow_extra_args(false);
  app.add_option("--lora-dtype", adapters.type,
                 "Data type of adapters in memory: auto (f32 for models in f32, else bf16), f32, bf16, or int8 (A in "
                 "8 bits, B in bf16)")
      ->check(CLI::IsMember(runtime::adapter_types()));
  app.add_flag("--lora-merge", adapters.merge,
               "Merge the adapter of --lora into the weights when the model is loaded: it then costs nothing, and the "
               "model without it is not there. Weights keep their types, quantized ones are rounded again");
  app.add_option("--max-lora-rank", adapters.max_lora_rank, "Max rank of an adapter; larger ones are rejected")
      ->check(CLI::Range(std::int64_t{1}, runtime::kMaxLoraRank));
}

void declare_adapter_life(CLI::App& app, runtime::AdapterConfig& adapters) {
  const OptionHeading heading(app, "Adapters");
  app.add_option(
         "--lora-dir", adapters.lora_dir,
         "Directory of adapters that come in while the server runs: at the first request for a name inside it, or with "
         "POST /v1/load_lora_adapter; without it none does")
      ->type_name("DIR");
  app.add_option("--max-loras", adapters.max_loras,
                 "Max adapters of a model in memory, those of --lora included; others leave it when it is needed, and "
                 "are read again; 0 = no limit")
      ->check(CLI::Range(std::int64_t{0}, runtime::kMaxLoras));
  add_size_option(app, "--lora-memory", adapters.lora_memory,
                  "Max memory of a model's adapters in bytes, e.g. 2GB; 0 = no limit");
  app.add_option(
         "--lora-full", adapters.lora_full,
         "What becomes of requests for an adapter while requests use all that could leave memory for it. queue: "
         "they wait; reject: they end with status 409")
      ->check(CLI::IsMember(runtime::full_modes()));
  app.add_flag("--lora-ignore-template", adapters.lora_ignore_template,
               "Leave tokenizers and chat templates in adapters' directories alone: conversations use the model's");
  app.add_option("--lora-unload-waiting", adapters.lora_unload_waiting,
                 "What becomes of requests without a token yet whose adapter is unloaded. finish: they are answered "
                 "with it; reject: they end with status 404")
      ->check(CLI::IsMember(runtime::waiting_modes()));
}

std::string adapter_path(const std::string& given, const HubFlags& hub) {
  std::error_code ignored;
  if (std::filesystem::exists(given, ignored) || hub::is_path_reference(given)) return given;
  auto reference = hub::parse_reference(given).or_throw();
  if (reference.name.find('/') == std::string::npos) return given;  // a directory that is not there
  if (reference.selector.empty()) reference.selector = hub::kAdapterSelector;
  return hub_model_path(reference, hub);
}

runtime::AdapterConfig resolved_adapters(const runtime::AdapterConfig& adapters, const HubFlags& hub) {
  runtime::AdapterConfig config = adapters;
  for (runtime::NamedAdapter& adapter : config.lora) adapter.path = adapter_path(adapter.path, hub);
  return config;
}

void merge_adapters(runtime::AdapterConfig& adapters, ModelFlags& model) {
  if (!adapters.merge) return;
  adapters.validate().or_throw();  // before anything is downloaded
  adapters = resolved_adapters(adapters, model.hub);
  adapters.merge_into(model);
}

void warn_of_other_bases(const runtime::AdapterConfig& adapters, const std::string& model) {
  const auto last_word = [](const std::string& reference) -> std::string {
    const auto parsed = hub::parse_reference(reference);
    if (hub::is_path_reference(reference) || !parsed) return {};
    return lower_case(std::filesystem::path(parsed->name).filename().string());
  };
  const std::string served = last_word(model);
  for (const runtime::NamedAdapter& adapter : adapters.lora) {
    const std::string file = adapter.path + "/adapter_config.json";
    const auto text = read_file(Env::system(), file, kMaxConfigBytes);
    const auto config = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
    const auto base = config.is_object() ? config.value("base_model_name_or_path", nlohmann::json()) : nlohmann::json();
    if (!base.is_string() || served.empty()) continue;
    const std::string made_for = last_word(base.get<std::string>());
    if (made_for.empty() || made_for.find(served) != std::string::npos || served.find(made_for) != std::string::npos) {
      continue;
    }
    log::warn("adapter {}: made for {}, not for {}", adapter.name, base.get<std::string>(), model);
  }
}

}  // namespace millrace::app
