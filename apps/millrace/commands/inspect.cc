#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/cpu.h"
#include "cli.h"
#include "command.h"
#include "fact_lines.h"
#include "loaded_model.h"
#include "model/config/read_config.h"
#include "model/memory_plan.h"
#include "model/weights/checkpoint_weights.h"
#include "printable.h"
#include "progress.h"

// What a model is and what it will take, from its headers; of weights only what memory_plan.h names is read.

namespace millrace::commands {
namespace {

using Json = nlohmann::ordered_json;
using checkpoint::Checkpoint;
using checkpoint::RawTensor;
using model::RopeScaling;

struct InspectFlags {
  app::ModelFlags model;
  bool json = false, tensors = false, chat_template = false;
};

std::string_view scaling_name(RopeScaling::Kind kind) {
  switch (kind) {
    case RopeScaling::Kind::kNone: return "none";
    case RopeScaling::Kind::kLinear: return "linear";
    case RopeScaling::Kind::kDynamic: return "dynamic";
    case RopeScaling::Kind::kYarn: return "yarn";
    case RopeScaling::Kind::kLlama3: return "llama3";
  }
  return "none";
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json describe_tensors(const Checkpoint& checkpoint) {
  struct Count {
    std::int64_t tensors = 0, values = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string_view, Count> counts;
  const auto add = [&](std::string_view format, const RawTensor& tensor) {
    Count& count = counts[format];
    ++count.tensors;
    count.values += tensor.shape.elements();
    count.bytes += tensor.bytes;
  };
  for (const RawTensor& tensor : checkpoint.tensors) add(tensor.format->name, tensor);
  for (const checkpoint::IntegerTensor& integers : checkpoint.integers) add("integers", integers.tensor);
  Json formats = Json::array();
  for (const auto& [name, count] : counts) {
    formats.push_back({{"format", name}, {"tensors", count.tensors}, {"values", count.values}, {"bytes", count.bytes}});
  }
  std::sort(formats.begin(), formats.end(), [](const Json& a, const Json& b) {
    return a["bytes"] != b["bytes"] ? a["bytes"] > b["bytes"] : a["format"] < b["format"];
  });
  return formats;
}

// Quantized matrices count as what they stand for, not as the scales and codes that they are made of.
std::int64_t values_of_quantized(const Checkpoint& checkpoint, const model::CheckpointWeights& weights) {
  std::int64_t total = 0;
  for (const auto& matrix : weights.matrices()) total += matrix.rows * matrix.cols;
  for (const RawTensor& tensor : checkpoint.tensors) {
    if (tensor.shape.rank() != 2) total += tensor.shape.elements();
  }
  return total;
}

// Without a spec, weights may be null.
Json describe_parameters(const Checkpoint& checkpoint, const model::ModelSpec* spec,
                         const model::CheckpointWeights* weights) {
  std::int64_t total = 0;
  std::uint64_t bytes = 0;
  for (const RawTensor& tensor : checkpoint.tensors) {
    total += tensor.shape.elements();
    bytes += tensor.bytes;
  }
  for (const checkpoint::IntegerTensor& integers : checkpoint.integers) bytes += integers.tensor.bytes;
  if (spec != nullptr && !checkpoint.integers.empty()) total = values_of_quantized(checkpoint, *weights);
  const RawTensor* embedding = spec == nullptr ? nullptr : checkpoint.find(spec->names.embedding + ".weight");
  return {{"total", total},
          {"without_embedding", embedding == nullptr ? Json(nullptr) : Json(total - embedding->shape.elements())},
          {"bytes", bytes}};
}

Json describe_shape(const model::ModelConfig& c) {
  Json rope = {{"theta", c.rope_theta}, {"dimensions", c.rope_dim}, {"scaling", scaling_name(c.rope_scaling.kind)}};
  if (c.rope_scaling.kind != RopeScaling::Kind::kNone) {
    rope["factor"] = c.rope_scaling.factor;
    rope["original_context"] = c.rope_scaling.original_context;
  }
  return {{"layers", c.n_layers},
          {"hidden_size", c.hidden_size},
          {"heads", c.n_heads},
          {"kv_heads", c.n_kv_heads},
          {"head_dim", c.head_dim},
          {"value_dim", c.value_dim},
          {"ffn", c.intermediate_size},
          {"vocab_size", c.vocab_size},
          {"context_length", c.context_length},
          {"sliding_window", c.sliding_window},
          {"tied_head", c.tie_word_embeddings},
          {"rope", std::move(rope)}};
}

Json describe_tokenizer(const text::Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return nullptr;
  const auto token = [&](text::TokenId id) -> Json { return {{"id", id}, {"text", tokenizer->token_text(id)}}; };
  Json ends = Json::array();
  for (const text::TokenId id : tokenizer->end_of_generation()) ends.push_back(token(id));
  std::int64_t specials = 0;
  for (text::TokenId id = 0; id < tokenizer->vocab_size(); ++id) specials += tokenizer->is_special(id) ? 1 : 0;
  return {{"kind", tokenizer->kind()},
          {"tokens", tokenizer->vocab_size()},
          {"special_tokens", specials},
          {"bos", tokenizer->bos() ? token(*tokenizer->bos()) : Json(nullptr)},
          {"eos", tokenizer->eos() ? token(*tokenizer->eos()) : Json(nullptr)},
          {"end_of_generation", std::move(ends)},
          {"adds_bos", tokenizer->adds_bos()}};
}

Json describe_memory(const model::CheckpointWeights& weights, const model::ModelSpec& spec,
                     const app::ModelFlags& flags, const backend::Backend& backend) {
  const std::int64_t length = flags.max_model_len > 0 ? flags.max_model_len : spec.context_length;
  const model::MemoryPlan plan = model::plan_memory(
      weights, spec, backend, {.precision = flags.precision(), .kv = flags.kv_pages(), .length = length});
  Json per_token = Json::object();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    per_token[std::string(to_string(dtype))] = model::kv_bytes_per_token(spec, dtype, backend);
  }
  per_token["int8"] = model::kv_bytes_per_token(spec, DType::kI8, backend);
  return {{"kv_bytes_per_token", std::move(per_token)},
          {"kv_cache_dtype", flags.kv_cache_dtype},
          {"tokens", length},
          {"isa", flags.cpu_isa.empty() ? std::string(to_string(detect_isa())) : flags.cpu_isa},
          {"weights", plan.weights},
          {"kv", plan.kv},
          {"workspace", plan.workspace},
          {"total", plan.total()},
          {"available", cpu_info().memory_available_bytes}};
}

std::vector<std::string> find_warnings(const Checkpoint& checkpoint, std::int64_t vocab_size, const Json& memory) {
  std::vector<std::string> warnings;
  if (checkpoint.tokenizer == nullptr) {
    warnings.push_back("no tokenizer: the model can be measured but not talked to");
  } else if (checkpoint.tokenizer->vocab_size() > vocab_size) {
    warnings.push_back(
        fmt::format("the tokenizer has {} tokens, the model {}", checkpoint.tokenizer->vocab_size(), vocab_size));
  }
  if (checkpoint.chat_templates.empty()) warnings.push_back("no chat template: not a chat model");
  if (checkpoint.generation.eos_token_ids.empty()) warnings.push_back("no end token: answers end by length alone");
  if (!memory.is_null() && memory["available"] > 0 && memory["total"] > memory["available"]) {
    warnings.push_back(fmt::format("{} for {} tokens exceed the {} available: lower --max-model-len",
                                   app::readable_bytes(memory["total"].get<double>()),
                                   memory["tokens"].get<std::int64_t>(),
                                   app::readable_bytes(memory["available"].get<double>())));
  }
  return warnings;
}

Json make_report(const Checkpoint& checkpoint, const InspectFlags& flags) {
  const model::ModelConfig config = model::read_model_config(checkpoint).or_throw();
  const auto backend = flags.model.make_backend(1);
  auto spec = model::make_spec(checkpoint, backend->limits());
  std::optional<model::CheckpointWeights> weights;
  if (spec) weights.emplace(checkpoint);
  const checkpoint::GenerationDefaults& g = checkpoint.generation;
  Json report = {
      {"path", checkpoint.path},
      {"container", to_string(checkpoint.container)},
      {"name", checkpoint.name},
      {"architecture", checkpoint.config.architecture},
      {"family", spec ? Json(spec->family) : Json(nullptr)},
      {"parameters", describe_parameters(checkpoint, spec ? &*spec : nullptr, weights ? &*weights : nullptr)},
      {"formats", describe_tensors(checkpoint)},
      {"shape", describe_shape(config)},
      {"tokenizer", describe_tokenizer(checkpoint.tokenizer.get())},
      {"memory", spec ? describe_memory(*weights, *spec, flags.model, *backend) : Json(nullptr)},
      {"generation",
       {{"temperature", or_null(g.temperature)},
        {"top_p", or_null(g.top_p)},
        {"top_k", or_null(g.top_k)},
        {"min_p", or_null(g.min_p)},
        {"repetition_penalty", or_null(g.repetition_penalty)},
        {"do_sample", or_null(g.do_sample)},
        {"eos_token_ids", g.eos_token_ids}}},
      {"chat_template", checkpoint.chat_templates.default_source()}};
  std::vector<std::string> warnings = find_warnings(checkpoint, config.vocab_size, report["memory"]);
  if (!spec) warnings.push_back(spec.error().message);
  report["warnings"] = warnings;
  if (flags.tensors) {
    for (const RawTensor& tensor : checkpoint.tensors) {
      std::vector<std::int64_t> shape;
      for (int i = 0; i < tensor.shape.rank(); ++i) shape.push_back(tensor.shape[i]);
      report["tensors"].push_back({{"name", tensor.name},
                                   {"format", tensor.format->name},
                                   {"shape", shape},
                                   {"bytes", tensor.bytes},
                                   {"file", checkpoint.files[static_cast<std::size_t>(tensor.file)]->path()},
                                   {"offset", tensor.offset}});
    }
  }
  return report;
}

std::string bytes(const Json& value) { return app::readable_bytes(value.get<double>()); }

void print_formats(const Json& formats) {
  std::printf("\n%-10s %8s %14s %10s %6s\n", "format", "tensors", "values", "bytes", "bits");
  for (const Json& f : formats) {
    std::printf("%-10s %8lld %14lld %10s %6.2f\n", f["format"].get<std::string>().c_str(),
                f["tensors"].get<long long>(), f["values"].get<long long>(), bytes(f["bytes"]).c_str(),
                8.0 * f["bytes"].get<double>() / std::max(1.0, f["values"].get<double>()));
  }
}

void print_tokenizer(const Json& t) {
  if (t.is_null()) return app::print_fact("tokenizer", "none");
  const auto token = [](const Json& json) {
    return json.is_null() ? "-" : app::shown(json["text"]) + " (" + app::shown(json["id"]) + ")";
  };
  app::print_fact("tokenizer", fmt::format("{}, {} tokens, {} special", app::shown(t["kind"]), t["tokens"].get<int>(),
                                           t["special_tokens"].get<int>()));
  std::string ends;
  for (const Json& end : t["end_of_generation"]) ends += (ends.empty() ? "" : ", ") + token(end);
  app::print_fact("specials",
                  fmt::format("bos {}{}, eos {}; an answer ends at {}", token(t["bos"]),
                              t["adds_bos"].get<bool>() ? " (added)" : "", token(t["eos"]), ends.empty() ? "-" : ends));
}

void print_memory(const Json& m) {
  if (m.is_null()) return;
  const Json& kv = m["kv_bytes_per_token"];
  app::print_fact("kv per token", fmt::format("f32 {}, f16 {}, bf16 {}, int8 {}", bytes(kv["f32"]), bytes(kv["f16"]),
                                              bytes(kv["bf16"]), bytes(kv["int8"])));
  app::print_fact("memory", fmt::format("{} = weights {} ({}) + kv {} ({}, {} tokens) + workspace {}; {} available",
                                        bytes(m["total"]), bytes(m["weights"]), app::shown(m["isa"]), bytes(m["kv"]),
                                        app::shown(m["kv_cache_dtype"]), m["tokens"].get<std::int64_t>(),
                                        bytes(m["workspace"]), bytes(m["available"])));
}

void print_generation(const Json& generation) {
  std::string text;
  for (const auto& [key, value] : generation.items()) {
    if (!value.is_null()) text += (text.empty() ? "" : ", ") + key + " " + value.dump();
  }
  app::print_fact("generation", text);
}

void print_template(const std::string& text) {
  constexpr std::size_t kShown = 3, kColumns = 100;
  if (text.empty()) return;
  std::printf("\nchat template (%zu bytes; --template prints it):\n", text.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < kShown && at < text.size(); ++i) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string row = text.substr(at, std::min(end - at, kColumns));
    std::printf("  %s%s\n", app::printable(row).c_str(), end - at > kColumns ? "..." : "");
    at = end + 1;
  }
}

void print_report(const Json& r) {
  const Json& s = r["shape"];
  const Json& p = r["parameters"];
  app::print_fact("path", r["path"].get<std::string>());
  app::print_fact("container", app::shown(r["container"]));
  app::print_fact("name", app::shown(r["name"]));
  app::print_fact("architecture", app::shown(r["architecture"]) + " (family " + app::shown(r["family"]) + ")");
  app::print_fact("parameters", fmt::format("{:.1f} M ({} M without the embedding), {}", p["total"].get<double>() / 1e6,
                                            p["without_embedding"].is_null()
                                                ? "-"
                                                : fmt::format("{:.1f}", p["without_embedding"].get<double>() / 1e6),
                                            bytes(p["bytes"])));
  const std::string values =
      s["value_dim"] == s["head_dim"] ? "" : fmt::format(" (values of {})", app::shown(s["value_dim"]));
  app::print_fact("shape",
                  fmt::format("{} layers, hidden {}, {} heads of {}{}, {} kv heads, ffn {}, vocabulary {}{}",
                              app::shown(s["layers"]), app::shown(s["hidden_size"]), app::shown(s["heads"]),
                              app::shown(s["head_dim"]), values, app::shown(s["kv_heads"]), app::shown(s["ffn"]),
                              app::shown(s["vocab_size"]), s["tied_head"].get<bool>() ? ", tied head" : ""));
  app::print_fact("context", fmt::format("{} tokens, sliding window {}", app::shown(s["context_length"]),
                                         s["sliding_window"] == 0 ? "none" : app::shown(s["sliding_window"])));
  const Json& rope = s["rope"];
  app::print_fact("rope", fmt::format("theta {}, {} dimensions, scaling {}{}", app::shown(rope["theta"]),
                                      app::shown(rope["dimensions"]), app::shown(rope["scaling"]),
                                      rope.contains("factor") ? " by " + app::shown(rope["factor"]) : ""));
  print_tokenizer(r["tokenizer"]);
  print_memory(r["memory"]);
  print_generation(r["generation"]);
  for (const Json& warning : r["warnings"]) app::print_fact("warning", app::shown(warning));
  print_formats(r["formats"]);
  print_template(r["chat_template"].get<std::string>());
  if (!r.contains("tensors")) return;
  std::printf("\n%-40s %-8s %-18s %s\n", "tensor", "format", "shape", "bytes");
  for (const Json& tensor : r["tensors"]) {
    std::printf("%-40s %-8s %-18s %s\n", app::shown(tensor["name"]).c_str(),
                tensor["format"].get<std::string>().c_str(), tensor["shape"].dump().c_str(),
                tensor["bytes"].dump().c_str());
  }
}

int inspect(const InspectFlags& flags) {
  const auto checkpoint = app::open_model(flags.model.model, flags.model.hub);
  if (flags.chat_template) {
    const std::string_view source = checkpoint->chat_templates.default_source();
    std::fwrite(source.data(), 1, source.size(), stdout);
    return 0;
  }
  const Json report = make_report(*checkpoint, flags);
  if (flags.json) {
    std::printf("%s\n", report.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    print_report(report);
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
            return [flags] { return inspect(*flags); };
          }};
}

}  // namespace millrace::commands
