#include "model/adapters/weights_adapter.h"

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "checkpoint/json_fields.h"
#include "checkpoint/quote_name.h"
#include "checkpoint/safetensors_reader.h"
#include "model/adapters/adapter_names.h"
#include "model/adapters/file_in_memory.h"

namespace millrace::model {
namespace {

using checkpoint::quote_name;
using checkpoint::RawTensor;

constexpr std::string_view kAlphaBeside = ".alpha";
constexpr const char* kAlphaOfAll = "ss_network_alpha";

// A tensor of one number.
double number_of(const checkpoint::Checkpoint& tensors, const RawTensor& tensor) {
  if (tensor.shape.elements() != 1 || tensor.format->block_values != 1) {
    throw_load_error(ErrorCode::kBadFile, tensor.name, "{}: tensor {} is {}: one number expected", tensors.path,
                     quote_name(tensor.name), tensor.shape.to_string());
  }
  std::vector<std::byte> stored(tensor.bytes);
  tensors.read(tensor, 0, stored).or_throw();
  float value = 0.0f;
  tensor.format->unpack(stored.data(), {&value, 1});
  if (!std::isfinite(value)) {
    throw_load_error(ErrorCode::kBadFile, tensor.name, "{}: tensor {} is {}, must be finite", tensors.path,
                     quote_name(tensor.name), value);
  }
  return value;
}

std::optional<double> alpha_of_all(const RandomAccessFile& file) {
  const auto metadata = checkpoint::read_safetensors_metadata(file);
  const auto found = metadata.find(kAlphaOfAll);
  if (found == metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  double value = 0.0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value)) {
    throw_load_error(ErrorCode::kBadFile, kAlphaOfAll, "{}: {} is {}, must be a finite number", file.path(),
                     kAlphaOfAll, quote_name(text));
  }
  return value;
}

// Takes the numbers out of the tensors, and gives each module its scale.
std::map<std::string, PeftConfig::Module> take_modules(checkpoint::Checkpoint& tensors, std::optional<double> of_all) {
  std::map<std::string, double> alphas;
  for (const RawTensor& tensor : tensors.tensors) {
    if (!tensor.name.ends_with(kAlphaBeside)) continue;
    alphas[tensor.name.substr(0, tensor.name.size() - kAlphaBeside.size())] = number_of(tensors, tensor);
  }
  std::map<std::string, PeftConfig::Module> modules;
  for (const RawTensor& tensor : tensors.tensors) {
    if (!tensor.name.ends_with(kMatrixA)) continue;
    const std::string module = tensor.name.substr(0, tensor.name.size() - kMatrixA.size());
    const auto own = alphas.find(module);
    if (own == alphas.end() && !of_all) {
      throw_load_error(
          ErrorCode::kBadFile, module + std::string(kAlphaBeside),
          "{}: has no alpha: there is neither a tensor {} nor {} in the metadata; name the directory if it "
          "has an adapter_config.json",
          tensors.path, quote_name(module + std::string(kAlphaBeside)), kAlphaOfAll);
    }
    const std::int64_t rank = tensor.shape.rank() == 2 ? tensor.shape[0] : 0;
    const double alpha = own == alphas.end() ? *of_all : own->second;
    modules[module] = {rank, alpha / static_cast<double>(rank)};
  }
  std::erase_if(tensors.tensors, [&](const RawTensor& tensor) {
    return tensor.name.ends_with(kAlphaBeside) &&
           modules.contains(tensor.name.substr(0, tensor.name.size() - kAlphaBeside.size()));
  });
  return modules;
}

}  // namespace

AdapterFiles read_weights_adapter(Env& env, const std::string& path, const ModuleNames& modules) {
  auto bytes = checkpoint::read_optional_file(env, path, kMaxAdapterBytes);
  if (!bytes) throw_load_error(ErrorCode::kNotFound, path, "{}: No such file or directory", path);
  return weights_adapter_of(std::make_unique<FileInMemory>(path, *std::move(bytes)), modules);
}

AdapterFiles weights_adapter_of(std::unique_ptr<RandomAccessFile> file, const ModuleNames& modules) {
  const std::string path = file->path();
  AdapterFiles files{.path = path};
  checkpoint::Checkpoint& tensors = files.tensors;
  tensors.path = tensors.config.file = path;
  tensors.container = checkpoint::Checkpoint::Container::kSafetensors;
  tensors.files.push_back(std::move(file));
  tensors.tensors = checkpoint::read_safetensors_header(*tensors.files.front());
  std::vector<std::string> known;
  for (RawTensor& tensor : tensors.tensors) {
    tensor.name = plain_adapter_name(std::move(tensor.name));
    if (!modules || !is_flat_name(tensor.name)) continue;
    if (known.empty()) known = modules();
    tensor.name = unflattened_name(tensor.name, known);
  }
  files.config = PeftConfig(path, take_modules(tensors, alpha_of_all(*tensors.files.front())));
  checkpoint::index_names(tensors);
  return files;
}

}  // namespace millrace::model
