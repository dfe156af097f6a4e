#pragma once

// For tests: adapters of random numbers, as PEFT writes them.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/safetensors_writer.h"

namespace millrace::model {

// Files of an adapter, of numbers by `seed`.
class RandomAdapter {
 public:
  explicit RandomAdapter(unsigned seed, std::int64_t rank = 4) : random_(seed), rank_(rank) {
    config = {{"peft_type", "LORA"}, {"r", rank}, {"lora_alpha", 2 * rank}, {"target_modules", {"any"}}};
  }
  // A and B of a module [rows, cols], and a magnitude for each row.
  void add(const std::string& module, std::int64_t rows, std::int64_t cols) {
    add_tensor(module + ".lora_A.weight", {rank_, cols}, 1.0f / std::sqrt(static_cast<float>(cols)));
    add_tensor(module + ".lora_B.weight", {rows, rank_}, 0.5f);
    if (config.value("use_dora", false)) add_tensor(module + ".lora_magnitude_vector", {rows}, 0.2f, 1.0f);
  }
  void add_tensor(const std::string& name, const Shape& shape, float deviation, float mean = 0.0f) {
    std::normal_distribution<float> normal(mean, deviation);
    specs_.push_back({"base_model.model." + name, quant::find_format("f32"), shape});
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const float value = normal(random_);
      data_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  void write(const std::filesystem::path& directory) const {
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "adapter_config.json") << config.dump();
    std::ofstream(directory / "adapter_model.safetensors", std::ios::binary)
        << checkpoint::safetensors_header_bytes({}, specs_).or_throw() << data_;
  }

  nlohmann::json config;

 private:
  std::mt19937 random_;
  std::int64_t rank_;
  std::vector<checkpoint::TensorSpec> specs_;
  std::string data_;
};

}  // namespace millrace::model
