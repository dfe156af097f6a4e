#include "runtime/adapter_memory.h"

#include <algorithm>
#include <filesystem>

#include "base/readable_bytes.h"

namespace millrace::runtime {
namespace {

namespace fs = std::filesystem;

AdapterMemory memory_of(const AdapterConfig& config, const std::vector<std::uint64_t>& sizes) {
  AdapterMemory memory;
  for (const std::uint64_t bytes : sizes) memory.loaded += bytes;
  memory.reserved = memory.loaded;
  const std::uint64_t largest = sizes.empty() ? 0 : *std::ranges::max_element(sizes);
  const std::uint64_t by_count = static_cast<std::uint64_t>(config.max_loras) * largest;  // at most 2^20 of them
  if (by_count > 0) {
    memory.reserved = by_count;
    memory.limit = "max-loras";
  }
  if (config.lora_memory > 0 && (by_count == 0 || config.lora_memory < by_count)) {
    memory.reserved = config.lora_memory;
    memory.limit = "lora-memory";
  }
  return memory;
}

// Of the largest file in its directory, or of the file itself.
std::uint64_t file_bytes(const std::string& path) {
  std::error_code failure;
  if (fs::is_regular_file(path, failure)) return fs::file_size(path, failure);
  std::uint64_t largest = 0;
  for (auto file = fs::directory_iterator(path, failure); !failure && file != fs::directory_iterator();
       file.increment(failure)) {
    std::error_code unreadable;
    const std::uint64_t bytes = file->is_regular_file(unreadable) ? file->file_size(unreadable) : 0;
    if (!unreadable) largest = std::max(largest, bytes);
  }
  return largest;
}

}  // namespace

AdapterMemory adapter_memory(const AdapterConfig& config, const std::vector<model::AdapterCard>& adapters) {
  std::vector<std::uint64_t> sizes;
  for (const model::AdapterCard& card : adapters) {
    if (card.resident) sizes.push_back(card.bytes);
  }
  return memory_of(config, sizes);
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

std::uint64_t expected_adapter_bytes(const AdapterConfig& config) {
  std::vector<std::uint64_t> sizes;
  for (const NamedAdapter& adapter : config.lora) sizes.push_back(file_bytes(adapter.path));
  return memory_of(config, sizes).reserved;
}

}  // namespace millrace::runtime
