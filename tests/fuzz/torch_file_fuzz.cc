// Any bytes as a file of torch. What is accepted must lie inside the file, and be apart or the same bytes a few times.
// An input that is no zip file is the pickle of one: so the pickle machine sees more than headers.

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "base/memory_env.h"
#include "checkpoint/testing/tiny_torch_file.h"
#include "checkpoint/torch_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with("\x80")) bytes = checkpoint::TinyTorchFile{.pickle = std::move(bytes)}.bytes();
  MemoryEnv env;
  env.files["m.bin"] = std::move(bytes);
  const auto file = env.open("m.bin").or_throw();
  try {
    std::vector<checkpoint::IntegerTensor> integers;
    const auto tensors = checkpoint::read_torch_file(*file, &integers);
    std::uint64_t sum = 0;
    for (const checkpoint::RawTensor& tensor : tensors) {
      if (tensor.offset > file->size() || tensor.bytes > file->size() - tensor.offset) std::abort();
      if (tensor.bytes != static_cast<std::uint64_t>(tensor.shape.elements() * tensor.format->block_bytes))
        std::abort();
      sum += tensor.bytes;
    }
    if (sum > file->size() * checkpoint::kTorchMaxSharing) std::abort();
  } catch (const LoadError& e) {
    if (e.error().message.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
