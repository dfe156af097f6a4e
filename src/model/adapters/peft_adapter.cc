#include "model/adapters/peft_adapter.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/output_directory.h"
#include "checkpoint/safetensors_writer.h"
#include "model/adapters/adapter_names.h"

namespace millrace::model {
namespace {

std::string last_component(const std::string& module) { return module.substr(module.rfind('.') + 1); }

std::string config_of(const PeftFacts& facts, std::span<const PeftModule> modules) {
  std::set<std::string> targets;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::object(), alphas = ranks;
  for (const PeftModule& module : modules) {
    targets.insert(last_component(module.name));
    if (module.rank != facts.rank) ranks[module.name] = alphas[module.name] = module.rank;
  }
  return nlohmann::ordered_json{{"peft_type", "LORA"},
                                {"task_type", "CAUSAL_LM"},
                                {"base_model_name_or_path", facts.base},
                                {"r", facts.rank},
                                {"lora_alpha", facts.rank},
                                {"rank_pattern", ranks},
                                {"alpha_pattern", alphas},
                                {"target_modules", targets},
                                {"fan_in_fan_out", facts.inputs_first},
                                {"lora_dropout", 0.0},
                                {"bias", "none"},
                                {"inference_mode", true}}
             .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace

PeftFiles peft_files(const PeftFacts& facts, std::span<const PeftModule> modules) {
  const quant::QuantFormat* f32 = quant::find_format("f32");
  std::vector<checkpoint::TensorSpec> specs;
  std::string data;
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t cols,
                       const std::vector<float>& values) {
    CHECK_EQ(std::ssize(values), rows * cols);
    specs.push_back({"base_model.model." + name, f32, {rows, cols}});
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  for (const PeftModule& module : modules) {
    add(module.name + kMatrixA, module.rank, module.cols, module.a);
    add(module.name + kMatrixB, module.rows, module.rank, module.b);
  }
  const std::pair<std::string, std::string> format{"format", "pt"};
  return {.config = config_of(facts, modules),
          .weights = checkpoint::safetensors_header_bytes(std::span(&format, 1), specs).or_throw() + data};
}

Result<void> write_peft_adapter(const std::string& directory, const PeftFiles& files) {
  auto out = OutputDirectory::create(directory);
  if (!out) return out.error();
  if (auto written = out->write("adapter_model.safetensors", files.weights); !written) return written;
  if (auto written = out->write("adapter_config.json", files.config); !written) return written;
  return out->commit();
}

}  // namespace millrace::model
