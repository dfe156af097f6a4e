#include "model/adapters/open_adapter.h"

#include <utility>

#include "checkpoint/json_fields.h"
#include "checkpoint/safetensors_reader.h"
#include "checkpoint/torch_reader.h"
#include "model/adapters/file_in_memory.h"
#include "model/adapters/gguf_adapter.h"
#include "model/adapters/target_parameters.h"
#include "model/adapters/weights_adapter.h"

namespace millrace::model {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 4 << 20;
constexpr std::string_view kConfig = "/adapter_config.json", kSafetensors = "/adapter_model.safetensors",
                           kTorch = "/adapter_model.bin", kGguf = ".gguf";

AdapterFiles open_directory(Env& env, const std::string& directory) {
  const std::string config_file = directory + std::string(kConfig);
  const auto config = checkpoint::read_optional_file(env, config_file, kMaxConfigBytes);
  if (!config) throw_load_error(ErrorCode::kNotFound, config_file, "{}: No such file or directory", config_file);
  AdapterFiles files{.path = directory, .config = PeftConfig(config_file, *config)};
  checkpoint::Checkpoint& tensors = files.tensors;
  tensors.path = directory;
  tensors.config.file = config_file;
  std::string path = directory + std::string(kSafetensors);
  auto bytes = checkpoint::read_optional_file(env, path, kMaxAdapterBytes);
  tensors.container =
      bytes ? checkpoint::Checkpoint::Container::kSafetensors : checkpoint::Checkpoint::Container::kTorch;
  if (!bytes) bytes = checkpoint::read_optional_file(env, directory + std::string(kTorch), kMaxAdapterBytes);
  if (!bytes) throw_load_error(ErrorCode::kNotFound, path, "{}: No such file or directory", path);
  const bool torch = tensors.container == checkpoint::Checkpoint::Container::kTorch;
  if (torch) path = directory + std::string(kTorch);
  tensors.files.push_back(std::make_unique<FileInMemory>(path, *std::move(bytes)));
  const RandomAccessFile& file = *tensors.files.front();
  tensors.tensors = torch ? checkpoint::read_torch_file(file, nullptr) : checkpoint::read_safetensors_header(file);
  for (checkpoint::RawTensor& tensor : tensors.tensors) tensor.name = plain_adapter_name(std::move(tensor.name));
  name_parameters(tensors, files.config.target_parameters());
  index_tensors(tensors);
  return files;
}

}  // namespace

std::string adapter_directory(Env& env, const std::string& path) {
  if (path.ends_with(kGguf)) return {};
  if (!path.ends_with(".safetensors")) return path;
  if (!path.ends_with(kSafetensors)) return {};
  const std::string directory = path.substr(0, path.size() - kSafetensors.size());
  return env.open(directory + std::string(kConfig)) ? directory : std::string();
}

AdapterFiles open_adapter(Env& env, const std::string& path, const ModuleNames& modules) {
  if (path.ends_with(kGguf)) return read_gguf_adapter(env, path);
  const std::string directory = adapter_directory(env, path);
  return directory.empty() ? read_weights_adapter(env, path, modules) : open_directory(env, directory);
}

}  // namespace millrace::model
