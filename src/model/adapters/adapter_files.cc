#include "model/adapters/adapter_files.h"

#include <cstring>
#include <utility>

#include "checkpoint/json_fields.h"
#include "checkpoint/quote_name.h"
#include "checkpoint/safetensors_reader.h"
#include "checkpoint/torch_reader.h"

namespace millrace::model {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 4 << 20;
constexpr std::uint64_t kMaxAdapterBytes = std::uint64_t{8} << 30;
constexpr std::string_view kConfig = "/adapter_config.json", kSafetensors = "/adapter_model.safetensors",
                           kTorch = "/adapter_model.bin";

// A file's content in memory.
class FileInMemory final : public RandomAccessFile {
 public:
  FileInMemory(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return make_error(ErrorCode::kBadFile, path_, "{}: ends at {}, {} bytes expected at {}", path_, bytes_.size(),
                        out.size(), offset);
    }
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }
  const std::string& path() const noexcept override { return path_; }

 private:
  std::string path_, bytes_;
};

// What PEFT puts in front of the names of the base; twice where a model of PEFT was wrapped once more.
constexpr std::string_view kPrefix = "base_model.model.";

// "base_model.model.MODULE.lora_A.default.weight" -> "MODULE.lora_A.weight".
std::string plain_name(std::string name) {
  while (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  for (const std::string_view part : {".lora_A.", ".lora_B."}) {
    const std::size_t at = name.find(part);
    if (at == std::string::npos) continue;
    const std::size_t behind = at + part.size(), dot = name.find('.', behind);
    if (dot != std::string::npos && name.substr(dot) == ".weight") name.erase(behind, dot + 1 - behind);
  }
  return name;
}

}  // namespace

AdapterFiles open_adapter(Env& env, const std::string& directory) {
  const std::string config_file = directory + std::string(kConfig);
  const auto config = checkpoint::read_optional_file(env, config_file, kMaxConfigBytes);
  if (!config) throw_load_error(ErrorCode::kNotFound, config_file, "{}: No such file or directory", config_file);
  AdapterFiles files{directory, PeftConfig(config_file, *config), {}};
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
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    checkpoint::RawTensor& tensor = tensors.tensors[i];
    const std::string found = tensor.name;
    tensor.name = plain_name(found);
    if (!tensors.tensor_index.emplace(tensor.name, i).second) {
      throw_load_error(ErrorCode::kBadFile, found, "{}: tensor {}: another one is of the same weight", path,
                       checkpoint::quote_name(found));
    }
  }
  return files;
}

}  // namespace millrace::model
