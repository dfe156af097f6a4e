#include "backend/cpu/kv_encoding.h"
#include "tensor/dtype.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

bool write(const KernelSet& kernels, const KvGeometry& geometry, const float* key, const float* value,
           KvTokenBytes& to) {
  kernels.to_bf16(key, geometry.padded_key_dim(), reinterpret_cast<std::uint16_t*>(to.key));
  kernels.to_bf16(value, geometry.padded_value_dim(), reinterpret_cast<std::uint16_t*>(to.value));
  return true;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  read_dense<std::uint16_t>(token.key, geometry.padded_key_dim(), bf16_to_f32, key);
  read_dense<std::uint16_t>(token.value, geometry.padded_value_dim(), bf16_to_f32, value);
}

}  // namespace

KvEncoding bf16() {
  return {.name = "bf16",
          .description = "16-bit floats with the range of f32",
          .aliases = {"bfloat16", "auto"},
          .product_bytes = 2,
          .key_error = 1.0f / 256,
          .value_error = 1.0f / 256,
          .form = [](std::int64_t pk, std::int64_t pv) { return dense_form<std::uint16_t>(pk, pv, 2); },
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
