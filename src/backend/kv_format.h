#pragma once

#include <cstdint>
#include <string_view>

#include "backend/device_view.h"
#include "tensor/dtype.h"

namespace millrace::backend {

// Format of pages of keys and values. A page of one layer holds B tokens of all K heads; the backend decides how they
// lie in it, and how many bytes it takes (Backend::kv_page_bytes).
struct KvFormat {
  // F32, f16, bf16, or i8: codes with one f32 scale for each token and head, separate for keys and values.
  DType dtype = DType::kBF16;
  std::int64_t block_tokens = 32;  // B
  std::string_view layout = {};    // name in DeviceKind::kv_layouts(), a literal; empty: the device's default
  // K, and the sizes of a key and a value of one head; 0 while the model is not known yet.
  std::int64_t kv_heads = 0, key_dim = 0, value_dim = 0;
};

// The pages of one layer: page p starts at base + p * Backend::kv_page_bytes(format).
struct KvPages {
  DeviceAddress base;
  KvFormat format;
};

}  // namespace millrace::backend
