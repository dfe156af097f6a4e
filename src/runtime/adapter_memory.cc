#include "runtime/adapter_memory.h"

#include <algorithm>
#include <filesystem>

#include "base/readable_bytes.h"

namespace millrace::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPeftWeights = "adapter_model.safetensors";

// Of the file, or of PEFT's weights in a directory, beside which trainers put larger files.
std::uint64_t file_bytes(const fs::path& adapter) {
  std::error_code failure;
  const bool directory = fs::is_directory(adapter, failure);
  const std::uint64_t bytes = fs::file_size(directory ? adapter / kPeftWeights : adapter, failure);
  return failure ? 0 : bytes;
}

// Of the adapters of PEFT inside a directory: what else lies there may be no adapter.
std::uint64_t largest_in(const std::string& directory) {
  std::uint64_t largest = 0;
  std::error_code failure;
  for (auto file = fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied, failure);
       !failure && file != fs::recursive_directory_iterator(); file.increment(failure)) {
    if (file->path().filename() == kPeftWeights) largest = std::max(largest, file_bytes(file->path()));
  }
  return largest;
}

AdapterMemory memory_of(const AdapterConfig& config, const std::vector<std::uint64_t>& sizes, int ranks) {
  AdapterMemory memory;
  for (const std::uint64_t bytes : sizes) memory.loaded += bytes;
  memory.reserved = memory.loaded;
  std::uint64_t largest = config.max_loras > 0 ? largest_in(config.lora_dir) : 0;
  for (const std::uint64_t bytes : sizes) largest = std::max(largest, bytes);
  const std::uint64_t by_count = static_cast<std::uint64_t>(config.max_loras) * largest;  // at most 2^20 of them
  if (by_count > 0) {
    memory.reserved = by_count;
    memory.limit = "max-loras";
  }
  if (config.lora_memory > 0 && (by_count == 0 || config.lora_memory < by_count)) {
    memory.reserved = config.lora_memory;
    memory.limit = "lora-memory";
  }
  for (std::uint64_t* bytes : {&memory.loaded, &memory.reserved}) *bytes *= static_cast<std::uint64_t>(ranks);
  return memory;
}

}  // namespace

AdapterMemory adapter_memory(const AdapterConfig& config, const std::vector<model::AdapterCard>& adapters, int ranks) {
  std::vector<std::uint64_t> sizes;
  for (const model::AdapterCard& card : adapters) {
    if (card.resident) sizes.push_back(card.bytes);
  }
  return memory_of(config, sizes, ranks);
}

Result<void> check_adapter_memory(const AdapterMemory& memory, std::uint64_t others, std::uint64_t available) {
  if (available == 0 || memory.limit.empty() || memory.reserved <= memory.loaded) return {};
  const std::uint64_t left = available - std::min(available, others);
  if (memory.reserved - memory.loaded <= left) return {};
  const auto readable = [](std::uint64_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
  return make_error(ErrorCode::kResourceExhausted, memory.limit,
                    "--{} keeps {} for adapters, of which {} are loaded: {} of memory are left beside keys and values",
                    memory.limit, readable(memory.reserved), readable(memory.loaded), readable(left));
}

std::uint64_t expected_adapter_bytes(const AdapterConfig& config, int ranks) {
  std::vector<std::uint64_t> sizes;
  for (const NamedAdapter& adapter : config.lora) sizes.push_back(file_bytes(adapter.path));
  return memory_of(config, sizes, ranks).reserved;
}

}  // namespace millrace::runtime
