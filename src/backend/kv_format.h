#pragma once

#include <cstdint>
#include <string_view>

#include "backend/device_view.h"
#include "tensor/dtype.h"

namespace millrace::backend {

// What pages hold keys and values in. A page of one layer holds B tokens of all K heads; how they lie in it, and how
// many bytes it takes, is the backend's business: Backend::kv_page_bytes.
struct KvFormat {
  DType dtype = DType::kBF16;  // f32, f16, bf16, or i8: codes with one f32 scale a token and head, for keys and values
  std::int64_t block_tokens = 32;  // B
  std::string_view layout = {};    // one of the device's (DeviceKind::kv_layouts), a literal; empty: its own choice
  // The model's: K, and the sizes of a key and of a value of one head; 0 while the form of pages is all that is known.
  std::int64_t kv_heads = 0, key_dim = 0, value_dim = 0;
};

// The pages of one layer: page p starts at base + p * Backend::kv_page_bytes(format).
struct KvPages {
  DeviceAddress base;
  KvFormat format;
};

}  // namespace millrace::backend
