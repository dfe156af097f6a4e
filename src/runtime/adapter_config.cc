#include "runtime/adapter_config.h"

#include <filesystem>
#include <set>

#include "runtime/field_checks.h"

namespace millrace::runtime {

const std::vector<std::string>& adapter_types() {
  static const std::vector<std::string> types = {"auto", "f32", "bf16", "int8"};
  return types;
}

const std::vector<std::string>& full_modes() {
  static const std::vector<std::string> modes = {"queue", "reject"};
  return modes;
}

const std::vector<std::string>& waiting_modes() {
  static const std::vector<std::string> modes = {"finish", "reject"};
  return modes;
}

Result<void> AdapterConfig::validate() const {
  if (auto fine = first_failure({one_of("lora-dtype", type, adapter_types()),
                                 between<std::int64_t>("max-lora-rank", max_lora_rank, 1, kMaxLoraRank),
                                 between<std::int64_t>("max-loras", max_loras, 0, kMaxLoras),
                                 one_of("lora-full", lora_full, full_modes()),
                                 one_of("lora-unload-waiting", lora_unload_waiting, waiting_modes())});
      !fine) {
    return fine;
  }
  if (merge && (lora.size() != 1 || !lora_dir.empty())) {
    return make_error(ErrorCode::kInvalidArgument, "lora-merge",
                      "lora-merge goes with one --lora and no --lora-dir: {} of --lora{} found", lora.size(),
                      lora_dir.empty() ? "" : " and --lora-dir");
  }
  if (max_loras > 0 && std::ssize(lora) > max_loras) {
    return make_error(ErrorCode::kInvalidArgument, "max-loras",
                      "max-loras is {}, less than the {} adapters that lora names, which stay in memory", max_loras,
                      lora.size());
  }
  std::set<std::string> names;
  for (const NamedAdapter& adapter : lora) {
    if (names.insert(adapter.name).second) continue;
    return make_error(ErrorCode::kInvalidArgument, "lora", "lora names '{}' twice", adapter.name);
  }
  return {};
}

model::AdapterOptions AdapterConfig::options() const {
  using Type = model::AdapterType;
  const Type chosen = type == "f32"    ? Type::kF32
                      : type == "bf16" ? Type::kBf16
                      : type == "int8" ? Type::kInt8
                                       : Type::kAuto;
  return {.type = chosen, .max_rank = max_lora_rank};
}

void AdapterConfig::merge_into(ModelConfig& model) {
  validate().or_throw();
  if (!merge) return;
  model.merged_lora = lora.front().path;
  lora.clear();
  merge = false;
}

model::AdapterStore::Config AdapterConfig::store() const {
  return {
      .limits = {.count = max_loras, .bytes = lora_memory},
      .when_full = lora_full == "reject" ? model::WhenFull::kReject : model::WhenFull::kQueue,
      .waiting = lora_unload_waiting == "reject" ? model::WaitingRequests::kReject : model::WaitingRequests::kFinish,
      .directory = lora_dir};
}

Result<NamedAdapter> parse_named_adapter(std::string_view flag, const std::string& text) {
  const std::size_t at = text.find('=');
  NamedAdapter named;
  named.path = at == std::string::npos ? text : text.substr(at + 1);
  const auto path = std::filesystem::path(named.path + "/").parent_path();
  named.name = at == std::string::npos ? path.filename().string() : text.substr(0, at);
  if (named.name.empty() || named.path.empty()) {
    return make_error(ErrorCode::kInvalidArgument, std::string(flag), "{} is '{}', must be NAME=DIR", flag, text);
  }
  return named;
}

}  // namespace millrace::runtime
