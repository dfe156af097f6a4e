#include "adapter_flags.h"

#include "cli.h"
#include "option_heading.h"

namespace millrace::app {

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
         "LoRA adapter of the (first) model: a name, and the directory that PEFT saved it in. May be repeated")
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

void declare_adapter_directory(CLI::App& app, runtime::AdapterConfig& adapters) {
  const OptionHeading heading(app, "Adapters");
  app.add_option(
         "--lora-dir", adapters.lora_dir,
         "Directory of adapters that POST /v1/load_lora_adapter may load while the server runs; without it none "
         "is loaded")
      ->type_name("DIR");
}

}  // namespace millrace::app
