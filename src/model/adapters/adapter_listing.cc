#include "model/adapters/adapter_listing.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/strict_json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_reader.h"
#include "checkpoint/json_fields.h"
#include "checkpoint/safetensors_reader.h"
#include "checkpoint/torch_reader.h"
#include "model/adapters/adapter_names.h"
#include "model/adapters/peft_config.h"
#include "model/adapters/target_parameters.h"
#include "model/adapters/weights_adapter.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxListedBytes = 4 << 20;
constexpr const char* kListedConfig = "adapter_config.json";

// Rank and number of the matrices A.
void count_matrices(const std::vector<checkpoint::RawTensor>& tensors, ListedAdapter& listed) {
  for (const checkpoint::RawTensor& tensor : tensors) {
    const bool is_a = tensor.name.find(".lora_A.") != std::string::npos || tensor.name.ends_with(".lora_a") ||
                      tensor.name.find("lora_embedding_A") != std::string::npos;
    if (!is_a || tensor.shape.rank() < 2) continue;
    ++listed.modules;
    listed.rank = std::max(listed.rank, tensor.shape[tensor.shape.rank() - 2]);
  }
}

// The same of files with matrices of all experts in one, whose shapes do not say the rank.
std::int64_t greatest_rank(std::vector<checkpoint::RawTensor> tensors, const PeftConfig& config) {
  checkpoint::Checkpoint named;
  for (checkpoint::RawTensor& tensor : tensors) {
    tensor.name = plain_adapter_name(std::move(tensor.name));
    named.tensors.push_back(std::move(tensor));
  }
  name_parameters(named, config.target_parameters());
  std::int64_t greatest = 0;
  for (const checkpoint::RawTensor& tensor : named.tensors) {
    const std::size_t at = tensor.name.find(".lora_A.");
    if (at != std::string::npos) greatest = std::max(greatest, config.rank(tensor.name.substr(0, at)));
  }
  return greatest;
}

std::string kind_of_config(const nlohmann::json& config) {
  const auto flag = [&](const char* name) { return config.contains(name) && config[name] == true; };
  const std::string type = config.contains("peft_type") && config["peft_type"].is_string()
                               ? config["peft_type"].get<std::string>()
                               : std::string("unknown");
  if (type != "LORA") return type;
  return flag("use_dora") ? "DoRA" : flag("use_rslora") ? "rsLoRA" : "LoRA";
}

ListedAdapter read_peft(Env& env, const fs::path& folder, const std::string& text) {
  ListedAdapter listed{.name = folder.filename(), .path = folder};
  try {
    const nlohmann::json config = checkpoint::parse_json_object(folder / kListedConfig, text);
    listed.kind = kind_of_config(config);
    if (const auto base = config.find("base_model_name_or_path"); base != config.end() && base->is_string()) {
      listed.base = base->get<std::string>();
    }
    const std::string safetensors = folder / "adapter_model.safetensors";
    auto file = env.open(safetensors);
    const bool torch = !file;
    if (torch) file = env.open(folder / "adapter_model.bin");
    if (!file) throw_load_error(ErrorCode::kNotFound, safetensors, "{}: No such file or directory", safetensors);
    listed.bytes = (*file)->size();
    const auto tensors =
        torch ? checkpoint::read_torch_file(**file, nullptr) : checkpoint::read_safetensors_header(**file);
    count_matrices(tensors, listed);
    const PeftConfig known(folder / kListedConfig, text);
    if (!known.target_parameters().empty()) listed.rank = greatest_rank(tensors, known);
  } catch (const LoadError& failure) {
    listed.problem = failure.error().message;
  }
  return listed;
}

// False: it is not a GGUF file of an adapter.
bool read_gguf(Env& env, const fs::path& path, ListedAdapter& listed) {
  const auto file = env.open(path);
  if (!file) return false;
  listed = {.name = path.stem(), .path = path, .kind = "LoRA", .bytes = (*file)->size()};
  try {
    const checkpoint::GgufHeader header = checkpoint::read_gguf_header(**file);
    if (header.metadata.text("general.type").value_or("") != "adapter") return false;
    listed.base = header.metadata.text("general.base_model.0.name").value_or("");
    count_matrices(header.tensors, listed);
  } catch (const LoadError& failure) {
    listed.problem = failure.error().message;
  }
  return true;
}

// False: it is no safetensors file of an adapter, or is one of those in a directory of PEFT.
bool read_weights(Env& env, const fs::path& path, ListedAdapter& listed) {
  std::error_code error;
  auto file = env.open(path);
  if (!file || fs::exists(path.parent_path() / kListedConfig, error)) return false;
  listed = {.name = path.stem(), .path = path, .kind = "LoRA", .bytes = (*file)->size()};
  try {
    std::vector<checkpoint::RawTensor> tensors = checkpoint::read_safetensors_header(**file);
    for (checkpoint::RawTensor& tensor : tensors) tensor.name = plain_adapter_name(std::move(tensor.name));
    count_matrices(tensors, listed);
    if (listed.modules > 0) static_cast<void>(weights_adapter_of(*std::move(file), {}));
  } catch (const LoadError& failure) {
    listed.problem = failure.error().message;
  }
  return listed.modules > 0;
}

}  // namespace

std::vector<ListedAdapter> list_adapters(Env& env, const std::string& directory) {
  std::error_code error;
  std::vector<fs::path> paths = {fs::path(directory + "/").parent_path()};
  for (const auto& entry : fs::directory_iterator(directory, error)) paths.push_back(entry.path());
  if (error) throw_load_error(ErrorCode::kNotFound, directory, "{}: {}", directory, error.message());
  std::vector<ListedAdapter> all;
  for (const fs::path& path : paths) {
    if (ListedAdapter listed; path.extension() == ".gguf" && read_gguf(env, path, listed)) all.push_back(listed);
    if (ListedAdapter listed; path.extension() == ".safetensors" && read_weights(env, path, listed)) {
      all.push_back(listed);
    }
    if (!fs::is_directory(path, error)) continue;
    const auto text = checkpoint::read_optional_file(env, path / kListedConfig, kMaxListedBytes);
    if (text) all.push_back(read_peft(env, path, *text));
  }
  std::ranges::sort(all, {}, &ListedAdapter::name);
  return all;
}

}  // namespace millrace::model
