#include "checkpoint/weight_files.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "checkpoint/json_fields.h"
#include "checkpoint/quote_name.h"
#include "checkpoint/safetensors_reader.h"
#include "checkpoint/torch_reader.h"

namespace millrace::checkpoint {
namespace {

constexpr WeightContainer kContainers[] = {
    {.container = Checkpoint::Container::kSafetensors,
     .single = "model.safetensors",
     .index = "model.safetensors.index.json",
     .extension = ".safetensors",
     .own_extension = ".safetensors",
     .read = read_safetensors_header},
    {.container = Checkpoint::Container::kTorch,
     .single = "pytorch_model.bin",
     .index = "pytorch_model.bin.index.json",
     .extension = ".bin",
     .own_extension = ".pt",
     .read = read_torch_file},
};

constexpr std::uint64_t kMaxIndexBytes = 64 << 20;
constexpr std::size_t kMaxShards = 1000;  // each is an open file

using TensorsOfShard = std::map<std::string, std::vector<std::string>>;

// A plain file name; symbolic links inside the directory are the file system's business (the Hugging Face cache is made
// of them).
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
}

TensorsOfShard parse_index(const std::string& file, std::string_view text) {
  const nlohmann::json json = parse_json_object(file, text);
  const JsonFields fields(file, json);
  const nlohmann::json* map = fields.find("weight_map");
  if (map == nullptr || !map->is_object()) fields.wrong_type("weight_map", "an object of tensor names and file names");
  TensorsOfShard shards;
  for (const auto& [tensor, shard] : map->items()) {
    const auto name = shard.is_string() ? shard.get<std::string>() : std::string();
    if (!is_plain_name(name)) {
      throw_load_error(ErrorCode::kBadFile, tensor,
                       "{}: tensor {}: a file name in the same directory expected, found {}", file, quote_name(tensor),
                       quote_name(name));
    }
    shards[name].push_back(tensor);
  }
  if (shards.size() > kMaxShards) {
    throw_load_error(ErrorCode::kBadFile, "weight_map", "{}: {} shards, at most {} expected", file, shards.size(),
                     kMaxShards);
  }
  return shards;
}

// Adds what one file holds.
void add_file(std::unique_ptr<RandomAccessFile> file, const WeightContainer& container, Checkpoint& checkpoint,
              std::vector<IntegerTensor>* integers) {
  const std::size_t known = integers == nullptr ? 0 : integers->size();
  std::vector<RawTensor> tensors = container.read(*file, integers);
  for (std::size_t i = known; integers != nullptr && i < integers->size(); ++i) {
    RawTensor& tensor = (*integers)[i].tensor;
    tensor.file = static_cast<int>(checkpoint.files.size());
    if (!checkpoint.integer_index.emplace(tensor.name, i).second) {
      throw_load_error(ErrorCode::kBadFile, tensor.name, "{}: tensor {}: stored in another shard too", file->path(),
                       quote_name(tensor.name));
    }
  }
  for (RawTensor& tensor : tensors) {
    tensor.file = static_cast<int>(checkpoint.files.size());
    if (!checkpoint.tensor_index.emplace(tensor.name, checkpoint.tensors.size()).second) {
      throw_load_error(ErrorCode::kBadFile, tensor.name, "{}: tensor {}: stored in another shard too", file->path(),
                       quote_name(tensor.name));
    }
    checkpoint.tensors.push_back(std::move(tensor));
  }
  checkpoint.files.push_back(std::move(file));
}

void open_shards(Env& env, const std::string& directory, const std::string& index_file, const TensorsOfShard& shards,
                 const WeightContainer& container, Checkpoint& checkpoint, std::vector<IntegerTensor>* integers) {
  for (const auto& [shard, tensors] : shards) {
    auto file = env.open(directory + "/" + shard);
    if (!file) {
      throw_load_error(file.error().code, shard, "{}: shard {} cannot be opened: {}", index_file, quote_name(shard),
                       file.error().message);
    }
    const int number = static_cast<int>(checkpoint.files.size());
    add_file(*std::move(file), container, checkpoint, integers);
    for (const std::string& name : tensors) {
      const RawTensor* tensor = checkpoint.find(name);
      const bool integer = integers != nullptr && std::ranges::any_of(*integers, [&](const IntegerTensor& one) {
                             return one.tensor.name == name && one.tensor.file == number;
                           });
      if (!integer && (tensor == nullptr || tensor->file != number)) {
        throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {} is not in {}", index_file, quote_name(name),
                         quote_name(shard));
      }
    }
  }
}

// Whether the file was there, and is read.
bool open_single(Env& env, const std::string& path, const WeightContainer& container, Checkpoint& checkpoint,
                 std::vector<IntegerTensor>* integers) {
  auto file = env.open(path);
  if (!file && file.error().code != ErrorCode::kNotFound) throw LoadError(file.error());
  if (!file) return false;
  add_file(*std::move(file), container, checkpoint, integers);
  return true;
}

// Whether the container was there, and is read.
bool open_container(Env& env, const std::string& directory, const WeightContainer& container, Checkpoint& checkpoint,
                    std::vector<IntegerTensor>* integers, std::string_view own_stem) {
  const auto single = [&](const std::string& name) {
    return open_single(env, directory + "/" + name, container, checkpoint, integers);
  };
  if (!own_stem.empty() && single(std::string(own_stem).append(container.own_extension))) return true;
  if (single(std::string(container.single))) return true;
  const std::string index_file = (directory + "/").append(container.index);
  const auto index = read_optional_file(env, index_file, kMaxIndexBytes);
  if (!index) return false;
  open_shards(env, directory, index_file, parse_index(index_file, *index), container, checkpoint, integers);
  return true;
}

}  // namespace

std::span<const WeightContainer> weight_containers() { return kContainers; }

void open_weights(Env& env, const std::string& directory, Checkpoint& checkpoint, std::vector<IntegerTensor>* integers,
                  std::string_view own_stem) {
  std::string looked_for;
  for (const WeightContainer& container : kContainers) {
    checkpoint.container = container.container;
    if (open_container(env, directory, container, checkpoint, integers, own_stem)) return;
    looked_for +=
        fmt::format("{}{} nor {}", looked_for.empty() ? "neither " : " nor ", container.single, container.index);
  }
  throw_load_error(ErrorCode::kNotFound, directory, "{}: {} is there", directory, looked_for);
}

}  // namespace millrace::checkpoint
