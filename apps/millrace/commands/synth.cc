#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/cpu_quota.h"
#include "cli.h"
#include "command.h"
#include "model/synth/synth_model.h"
#include "model/synth/synth_plan.h"
#include "model/synth/synth_speculators.h"
#include "model_flags.h"
#include "progress.h"

namespace millrace::commands {
namespace {

namespace fs = std::filesystem;
using checkpoint::Checkpoint;

struct SynthFlags {
  std::string shape, format, heads, out;
  std::string tokenizer = "default";
  std::uint64_t seed = 0;
  int threads = 0;
  bool list = false, json = false, no_progress = false;
};

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const model::SynthShape& shape : model::synth_shapes()) names.emplace_back(shape.name);
  return names;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const quant::QuantFormat& format : quant::all_formats()) {
    if (format.gguf_type >= 0 && model::can_synthesize(format)) names.emplace_back(format.name);
  }
  return names;
}

std::vector<std::string> head_kinds() {
  const auto kinds = model::synth_head_kinds();
  return {kinds.begin(), kinds.end()};
}

int list_shapes(bool json) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!json) {
    std::printf("%-12s %-7s %8s %7s %6s %6s %6s %6s %8s  %s\n", "shape", "family", "hidden", "layers", "heads", "kv",
                "dim", "ffn", "context", "as");
  }
  for (const model::SynthShape& s : model::synth_shapes()) {
    if (json) {
      rows.push_back({{"name", s.name},
                      {"family", s.family},
                      {"hidden_size", s.hidden},
                      {"layers", s.layers},
                      {"heads", s.heads},
                      {"kv_heads", s.kv_heads},
                      {"head_dim", s.head_dim},
                      {"value_dim", s.value_dim > 0 ? s.value_dim : s.head_dim},
                      {"ffn", s.ffn},
                      {"context_length", s.context},
                      {"vocab_size", s.vocab},
                      {"tied_head", s.tied_head},
                      {"like", s.like}});
    } else {
      const std::string dim =
          s.value_dim > 0 ? fmt::format("{}/{}", s.head_dim, s.value_dim) : std::to_string(s.head_dim);
      std::printf("%-12s %-7s %8lld %7lld %6lld %6lld %6s %6lld %8lld  %s\n", std::string(s.name).c_str(),
                  std::string(s.family).c_str(), static_cast<long long>(s.hidden), static_cast<long long>(s.layers),
                  static_cast<long long>(s.heads), static_cast<long long>(s.kv_heads), dim.c_str(),
                  static_cast<long long>(s.ffn), static_cast<long long>(s.context), std::string(s.like).c_str());
    }
  }
  if (json) std::printf("%s\n", nlohmann::ordered_json{{"shapes", rows}, {"formats", format_names()}}.dump(2).c_str());
  return 0;
}

// Fails before an hour of work does.
void check_space(const std::string& out, std::uint64_t bytes) {
  const fs::path parent = fs::absolute(out).parent_path();
  std::error_code error;
  const fs::space_info space = fs::space(parent, error);
  if (error) throw_load_error(ErrorCode::kInvalidArgument, "out", "{}: {}", parent.string(), error.message());
  if (space.available < bytes) {
    throw_load_error(ErrorCode::kResourceExhausted, "out", "{}: {} are needed and {} free", out,
                     app::readable_bytes(static_cast<double>(bytes)),
                     app::readable_bytes(static_cast<double>(space.available)));
  }
}

int synth(const SynthFlags& flags) {
  if (flags.list) return list_shapes(flags.json);
  if (flags.shape.empty() || flags.format.empty() || flags.out.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "synth",
                     "synth: --shape, --format and an output path are required; "
                     "--list shows the shapes");
  }
  const bool gguf = flags.out.ends_with(".gguf");
  if (gguf && !flags.heads.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "heads", "{}: heads are written as a directory", flags.out);
  }
  model::SynthOptions options{.format = quant::find_format(flags.format), .seed = flags.seed, .tokenizer = {}};
  if (flags.tokenizer != "none") {
    options.tokenizer = model::read_synth_tokenizer(Env::system(), app::model_path(flags.tokenizer)).or_throw();
  }
  const model::SynthShape& shape = *model::find_synth_shape(flags.shape);
  const auto container = gguf ? Checkpoint::Container::kGguf : Checkpoint::Container::kSafetensors;
  const model::SynthModel plan =
      (flags.heads.empty() ? model::plan_synth(shape, container, std::move(options))
                           : model::plan_synth_speculators(shape, flags.heads, std::move(options)))
          .or_throw();
  check_space(flags.out, plan.bytes());
  const TimePoint start = Env::system().now();
  WorkerTeam team(flags.threads > 0 ? flags.threads : usable_threads());
  {
    app::Progress progress("synth", plan.bytes(),
                           flags.no_progress ? app::Progress::Mode::kSilent : app::Progress::Mode::kAuto);
    model::write_synth(plan, flags.out, team, [&](std::uint64_t bytes) { progress.update(bytes); }).or_throw();
  }
  const double seconds = milliseconds_between(start, Env::system().now()) / 1000.0;
  if (flags.json) {
    const nlohmann::ordered_json report = {{"path", flags.out},
                                           {"shape", flags.shape},
                                           {"format", flags.format},
                                           {"seed", flags.seed},
                                           {"parameters", plan.parameters()},
                                           {"tensors", plan.tensors.size()},
                                           {"bytes", plan.bytes()},
                                           {"seconds", seconds}};
    std::printf("%s\n", report.dump().c_str());
  } else {
    std::printf("%s: %.1f M parameters, %s (%.1f s)\n", flags.out.c_str(), static_cast<double>(plan.parameters()) / 1e6,
                app::readable_bytes(static_cast<double>(plan.bytes())).c_str(), seconds);
  }
  return 0;
}

}  // namespace

app::Command synth() {
  return {.name = "synth",
          .summary = "Write a model with random weights",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<SynthFlags>();
            app.add_option("--shape", flags->shape, "Architecture and dimensions of the model; --list prints them")
                ->check(CLI::IsMember(shape_names()));
            app.add_option("--format", flags->format, "Data type or quantization of the weight matrices")
                ->check(CLI::IsMember(format_names()));
            app.add_option("--heads", flags->heads,
                           "Kind of speculator heads to write instead, into a directory, for a model of --shape")
                ->check(CLI::IsMember(head_kinds()));
            app.add_option("out", flags->out,
                           "Output: a .gguf file, or a directory for safetensors (f32, f16 and bf16 only)")
                ->type_name("FILE");
            app.add_option(
                "--seed", flags->seed,
                "Random seed of the weights; the same seed gives the same model in every format (but iq*, of random "
                "codes)");
            app.add_option("--tokenizer", flags->tokenizer,
                           "Model (.gguf file) whose tokenizer to copy, 'default' or 'none'")
                ->type_name("MODEL");
            app.add_option("-t,--threads", flags->threads,
                           "Worker threads, which do not change the output; 0 = all processors")
                ->check(CLI::Range(0, 1024));
            app.add_flag("--list", flags->list, "List the shapes that --shape accepts and exit");
            app.add_flag("--json", flags->json, "Print the result as JSON");
            app.add_flag("--no-progress", flags->no_progress, "Show no progress on stderr");
            return [flags] { return synth(*flags); };
          },
          .example = "millrace synth --shape llama-135m --format q4_0 random.gguf"};
}

}  // namespace millrace::commands
