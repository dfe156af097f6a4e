// Any bytes as a .gguf file: opened or refused, and every byte of every tensor that is promised can be read.

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/memory_env.h"
#include "checkpoint/gguf_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  MemoryEnv env;
  env.files["m.gguf"].assign(reinterpret_cast<const char*>(data), size);
  text::GgufVocabulary vocabulary;
  const auto checkpoint = checkpoint::read_gguf(env, "m.gguf", &vocabulary);
  if (!checkpoint) {
    if (checkpoint.error().message.find('\n') != std::string::npos) std::abort();  // messages are one line
    return 0;
  }
  for (const checkpoint::RawTensor& tensor : (*checkpoint)->tensors) {
    std::vector<std::byte> bytes(tensor.bytes);
    if (!(*checkpoint)->read(tensor, 0, bytes)) std::abort();
    std::vector<float> row(static_cast<std::size_t>(tensor.shape.back()));
    tensor.format->unpack(bytes.data(), row);
  }
  return 0;
}
