#include <cstring>

#include "backend/cpu/kv_encoding.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

bool write(const KernelSet&, const KvGeometry& geometry, const float* key, const float* value, KvTokenBytes& to) {
  std::memcpy(to.key, key, static_cast<std::size_t>(geometry.padded_key_dim()) * sizeof(float));
  std::memcpy(to.value, value, static_cast<std::size_t>(geometry.padded_value_dim()) * sizeof(float));
  return true;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  std::memcpy(key, token.key, static_cast<std::size_t>(geometry.padded_key_dim()) * sizeof(float));
  std::memcpy(value, token.value, static_cast<std::size_t>(geometry.padded_value_dim()) * sizeof(float));
}

}  // namespace

KvEncoding f32() {
  return {.name = "f32",
          .description = "32-bit floats: exact, twice the memory of bf16",
          .aliases = {"float32", "float"},
          .form = [](std::int64_t pk, std::int64_t pv) { return dense_form<float>(pk, pv, 1); },
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
