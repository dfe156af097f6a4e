#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "adapter_flags.h"
#include "backend/cpu/cpu_backend.h"
#include "base/cpu_quota.h"
#include "checkpoint/write_checkpoint.h"
#include "cli.h"
#include "command.h"
#include "lora/scaled_adapter.h"
#include "model/adapters/merge_formats.h"
#include "model/adapters/reshaped_base.h"
#include "model/make_spec.h"
#include "model/weights/dequantized.h"
#include "model_flags.h"
#include "printable.h"
#include "progress.h"

namespace millrace::lora::commands {
namespace {

struct MergeFlags {
  std::string model;
  app::HubFlags hub;
  std::vector<std::string> adapters;
  std::string out, type;
  int threads = 0;
  bool json = false;
};

constexpr const char* kTokenizerFiles[] = {"tokenizer.json",    "tokenizer_config.json",
                                           "tokenizer.model",   "special_tokens_map.json",
                                           "added_tokens.json", "vocab.json",
                                           "merges.txt",        "chat_template.jinja"};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const quant::QuantFormat& format : quant::all_formats()) {
    if (format.gguf_type >= 0 && format.pack != nullptr) names.emplace_back(format.name);
  }
  return names;
}

// The changes that make a configuration that of the merged model.
checkpoint::CopyChanges changes_of(const model::ReshapedBase& base, const quant::QuantFormat* type, bool untied) {
  checkpoint::CopyChanges changes;
  if (type != nullptr) changes = model::changes_of_type(*base.checkpoint, *type);
  changes.config.update(base.config);
  if (untied) changes.config["tie_word_embeddings"] = false;
  if (base.tokenizer.empty()) return changes;
  for (const char* name : kTokenizerFiles) {
    const std::filesystem::path path = std::filesystem::path(base.tokenizer) / name;
    if (std::filesystem::is_regular_file(path)) changes.files[name] = path;
  }
  return changes;
}

int merge(const MergeFlags& flags) {
  std::vector<model::ScaledAdapter> adapters;
  for (const std::string& text : flags.adapters) {
    adapters.push_back(parse_scaled_adapter(text));
    adapters.back().path = app::adapter_path(adapters.back().path, flags.hub);
  }
  auto opened = app::open_model(flags.model, flags.hub);
  const bool dequantized = !flags.type.empty() && model::is_quantized(*opened);
  if (dequantized) opened = model::dequantized(std::move(opened));
  model::ReshapedBase base = model::reshaped_base(Env::system(), std::move(opened), adapters);
  const auto& checkpoint = base.checkpoint;
  model::MergeOptions options{.layers = base.layers};
  const quant::QuantFormat* type = quant::find_format(flags.type);
  if (type != nullptr) {
    options.formats = model::formats_of_type(*checkpoint, model::make_spec(*checkpoint).or_throw(), *type);
  }
  const std::size_t tensors = checkpoint->tensors.size();
  const model::Merged merged = model::merge_adapters(
      Env::system(), *checkpoint, backend::cpu::make_cpu_backend({.threads = 1}).or_throw(), adapters, options);
  std::uint64_t bytes = 0;
  for (const checkpoint::RawTensor& tensor : checkpoint->tensors) bytes += tensor.bytes;
  WorkerTeam team(flags.threads > 0 ? flags.threads : usable_threads());
  {
    app::Progress progress("merge", bytes,
                           flags.hub.no_progress ? app::Progress::Mode::kSilent : app::Progress::Mode::kAuto);
    auto changes = changes_of(base, type, checkpoint->tensors.size() > tensors);
    if (dequantized) model::leave_out_quantization(changes);
    checkpoint::write_checkpoint(*checkpoint, flags.out, changes, team, [&](std::uint64_t done) {
      progress.update(done);
    }).or_throw();
  }
  if (flags.json) {
    const nlohmann::ordered_json report = {{"path", flags.out},
                                           {"adapters", merged.adapters},
                                           {"changed_tensors", merged.tensors},
                                           {"tensors", checkpoint->tensors.size()},
                                           {"bytes", bytes},
                                           {"rounding_error", merged.error->relative()}};
    std::printf("%s\n", report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  } else {
    std::printf("%s: %s, %lld of %zu tensors changed; rounding them changed values by %.2e of their size\n",
                app::printable(flags.out).c_str(), app::readable_bytes(static_cast<double>(bytes)).c_str(),
                static_cast<long long>(merged.tensors), checkpoint->tensors.size(), merged.error->relative());
  }
  return 0;
}

}  // namespace

app::Command merge() {
  return {.name = "merge",
          .summary = "Write a model with adapters merged into its weights",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<MergeFlags>();
            app.add_option("model", flags->model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'")
                ->required();
            app.add_option(
                   "adapter", flags->adapters,
                   "Adapters, each with a scale if that is not 1: the weights become W + the sum of scale * B A")
                ->type_name("ADAPTER[=SCALE]")
                ->required();
            app.add_option("-o,--out", flags->out,
                           "Output: a .gguf file if the model is one, else a new directory with model.safetensors and "
                           "the model's other files")
                ->type_name("PATH")
                ->required();
            app.add_option("--type", flags->type,
                           "Data type or quantization of the output: of GGUF any of these, of safetensors f32, f16 or "
                           "bf16, which quantized ones need; default that of the model, tensor by tensor")
                ->check(CLI::IsMember(type_names()));
            app.add_option("-t,--threads", flags->threads,
                           "Worker threads, which do not change the output; 0 = all processors")
                ->check(CLI::Range(0, 1024));
            app.add_flag("--json", flags->json, "Print the result as JSON");
            flags->hub.declare(app);
            return [flags] { return merge(*flags); };
          },
          .example = "millrace lora merge org/base adapters/sql=0.7 adapters/support -o merged"};
}

}  // namespace millrace::lora::commands
