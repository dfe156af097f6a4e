#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/device_view.h"

namespace millrace::backend {

// Layers [first, last] of those that keep keys and values have pages of another encoding.
struct KvException {
  std::int64_t first = 0, last = 0;
  std::string_view encoding;  // as in KvFormat
};

// Format of pages of keys and values. A page of one layer holds B tokens of all K heads; the backend decides how they
// lie in it, and how many bytes it takes (Backend::kv_page_bytes).
struct KvFormat {
  std::string_view encoding = "bf16";  // name in DeviceKind::kv_encodings(), a literal
  std::int64_t block_tokens = 32;      // B
  std::string_view layout = {};        // name in DeviceKind::kv_layouts(), a literal; empty: the device's default
  // K, and the sizes of a key and a value of one head; 0 while the model is not known yet.
  std::int64_t kv_heads = 0, key_dim = 0, value_dim = 0;
  // What a stored number of keys, or of values, is multiplied with, where the encoding takes scales of a checkpoint.
  // 0: the checkpoint has none, and numbers are stored as they are.
  float key_scale = 0.0f, value_scale = 0.0f;
  // Layers of another encoding; null in the format of one layer. The later of two that have a layer counts.
  std::shared_ptr<const std::vector<KvException>> exceptions = {};
};

// The pages of one layer: page p starts at base + p * Backend::kv_page_bytes(format).
struct KvPages {
  DeviceAddress base;
  KvFormat format;
  std::int64_t layer = 0;  // number among those that keep keys and values, for messages
};

// A number that its encoding could not hold: the page holds NaN there.
struct KvOverflow {
  std::int64_t layer = 0, head = 0, position = 0;
  std::int32_t page = 0;
  bool of_key = false;
  float value = 0.0f;
  std::string_view encoding;
};

}  // namespace millrace::backend
