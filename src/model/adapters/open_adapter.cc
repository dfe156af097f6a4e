#include "model/adapters/open_adapter.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "checkpoint/json_fields.h"
#include "checkpoint/safetensors_reader.h"
#include "checkpoint/torch_reader.h"
#include "model/adapters/file_in_memory.h"
#include "model/adapters/gguf_adapter.h"
#include "model/adapters/target_parameters.h"
#include "model/adapters/weights_adapter.h"

namespace millrace::model {
namespace {

constexpr int kAttempts = 3;  // of reading files that change meanwhile
constexpr std::uint64_t kMaxConfigBytes = 4 << 20;
constexpr std::string_view kConfig = "/adapter_config.json", kSafetensors = "/adapter_model.safetensors",
                           kTorch = "/adapter_model.bin", kGguf = ".gguf";

// PEFT itself writes one file.
void refuse_shards(Env& env, const std::string& directory) {
  for (const std::string_view weights : {kSafetensors, kTorch}) {
    const std::string index = directory + std::string(weights) + ".index.json";
    if (!env.open(index) || env.open(directory + std::string(weights))) continue;
    throw_load_error(
        ErrorCode::kUnsupported, index,
        "{}: an adapter in several files is not read: load it with PEFT and save it again, which writes one", index);
  }
}

// PEFT saves a whole embedding under two names where the vocabulary has grown too.
void drop_copies(checkpoint::Checkpoint& tensors) {
  const auto bytes_of = [&](const checkpoint::RawTensor& tensor) {
    std::vector<std::byte> bytes(tensor.bytes);
    tensors.read(tensor, 0, bytes).or_throw();
    return bytes;
  };
  std::map<std::string, const checkpoint::RawTensor*> first;
  std::vector<checkpoint::RawTensor> kept;
  kept.reserve(tensors.tensors.size());
  for (const checkpoint::RawTensor& tensor : tensors.tensors) {
    const auto [at, is_new] = first.emplace(tensor.name, &tensor);
    const checkpoint::RawTensor& other = *at->second;
    const bool same = !is_new && tensor.name.find(".lora_") == std::string::npos && tensor.format == other.format &&
                      tensor.shape == other.shape && tensor.bytes == other.bytes && bytes_of(tensor) == bytes_of(other);
    if (!same) kept.push_back(tensor);
  }
  tensors.tensors = std::move(kept);
}

// Size and time of the last change of each file; of one that is not there, others than of any that is.
std::vector<std::pair<std::uint64_t, std::int64_t>> states_of(Env& env, const std::vector<std::string>& paths) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> states;
  for (const std::string& path : paths) {
    const auto file = env.open(path);
    states.emplace_back(file ? (*file)->size() : 0, file ? (*file)->modified() : -1);
  }
  return states;
}

AdapterFiles open_directory(Env& env, const std::string& directory) {
  const std::string config_file = directory + std::string(kConfig);
  const auto config = checkpoint::read_optional_file(env, config_file, kMaxConfigBytes);
  if (!config) throw_load_error(ErrorCode::kNotFound, config_file, "{}: No such file or directory", config_file);
  AdapterFiles files{.path = directory, .config = PeftConfig(config_file, *config)};
  checkpoint::Checkpoint& tensors = files.tensors;
  tensors.path = directory;
  tensors.config.file = config_file;
  refuse_shards(env, directory);
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
  drop_copies(tensors);
  name_parameters(tensors, files.config.target_parameters());
  checkpoint::index_names(tensors);
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
  const std::string directory = adapter_directory(env, path);
  const auto read = [&] {
    if (path.ends_with(kGguf)) return read_gguf_adapter(env, path);
    return directory.empty() ? read_weights_adapter(env, path, modules) : open_directory(env, directory);
  };
  std::vector<std::string> paths = {path};
  if (!directory.empty()) paths.clear();
  for (const std::string_view file : {kConfig, kSafetensors, kTorch}) {
    if (!directory.empty()) paths.push_back(directory + std::string(file));
  }
  for (int attempt = 1;; ++attempt) {
    const auto before = states_of(env, paths);
    std::optional<AdapterFiles> files;
    std::optional<Error> failure;
    try {
      files = read();
    } catch (const LoadError& error) {
      failure = error.error();
    }
    if (states_of(env, paths) == before) {
      if (failure) throw LoadError(*failure);
      return *std::move(files);
    }
    if (attempt < kAttempts) continue;
    throw_load_error(ErrorCode::kBadFile, path, "{}: is written to while it is read", path);
  }
}

}  // namespace millrace::model
