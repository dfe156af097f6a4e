#pragma once

// For tests: logits that Hugging Face Transformers computed for a tiny model (tests/golden/make_tiny.py).

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/env.h"

namespace millrace::model {

struct GoldenLogits {
  std::vector<std::int32_t> tokens;
  std::vector<float> logits;  // [tokens, V]
};

// Reads NAME.json and NAME.safetensors of a folder in tests/golden. Throws LoadError.
inline GoldenLogits read_golden(const std::filesystem::path& folder, const std::string& name = "expected") {
  GoldenLogits golden;
  const std::string text = read_file(Env::system(), folder / (name + ".json"), 1 << 20).or_throw();
  golden.tokens = nlohmann::json::parse(text).at("tokens").get<std::vector<std::int32_t>>();
  const std::string raw = read_file(Env::system(), folder / (name + ".safetensors"), 1 << 26).or_throw();
  std::uint64_t header = 0;
  std::memcpy(&header, raw.data(), 8);
  golden.logits.resize((raw.size() - 8 - header) / sizeof(float));
  std::memcpy(golden.logits.data(), raw.data() + 8 + header, golden.logits.size() * sizeof(float));
  return golden;
}

}  // namespace millrace::model
