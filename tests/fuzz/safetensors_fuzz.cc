// Any bytes as a .safetensors file. What is accepted must tile the file.

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "base/memory_env.h"
#include "checkpoint/safetensors_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  MemoryEnv env;
  env.files["m.safetensors"].assign(reinterpret_cast<const char*>(data), size);
  const auto file = env.open("m.safetensors").or_throw();
  try {
    const auto tensors = checkpoint::read_safetensors_header(*file);
    std::uint64_t bytes = 0;
    for (const checkpoint::RawTensor& tensor : tensors) bytes += tensor.bytes;
    if (!tensors.empty() && tensors.front().offset + bytes != size) std::abort();
  } catch (const LoadError& e) {
    if (e.error().message.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
