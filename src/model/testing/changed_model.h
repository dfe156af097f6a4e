#pragma once

// For tests: writes a copy of a tiny model with changed weights.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors_writer.h"

namespace millrace::model {

// The weights of a model by name, as f32.
struct ChangedWeights {
  struct Tensor {
    Shape shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;

  Tensor& at(const std::string& name) { return tensors.at(name); }
  // Keeps the first `rows` rows of a matrix.
  void cut_rows(const std::string& name, std::int64_t rows) {
    Tensor& tensor = at(name);
    tensor.values.resize(static_cast<std::size_t>(rows * tensor.shape[1]));
    tensor.shape = {rows, tensor.shape[1]};
  }
  // Widens each head of a matrix from `from` rows to `to` rows; calls `made` for each new value. The rows of a head are
  // adjacent.
  void widen_rows(const std::string& name, std::int64_t from, std::int64_t to, const std::function<float()>& made) {
    Tensor& tensor = at(name);
    const std::int64_t rows = tensor.shape[0], cols = tensor.shape[1];
    std::vector<float> wide;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto begin = tensor.values.begin() + r * cols;
      wide.insert(wide.end(), begin, begin + cols);
      for (std::int64_t i = 0; r % from == from - 1 && i < (to - from) * cols; ++i) wide.push_back(made());
    }
    tensor = {{rows / from * to, cols}, std::move(wide)};
  }
  // Widens each head of a matrix from `from` columns to `to` columns; calls `made` for each new value.
  void widen_columns(const std::string& name, std::int64_t from, std::int64_t to, const std::function<float()>& made) {
    Tensor& tensor = at(name);
    const std::int64_t cols = tensor.shape[1];
    std::vector<float> wide;
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      wide.push_back(tensor.values[i]);
      if (static_cast<std::int64_t>(i) % from != from - 1) continue;  // a row is a whole number of heads
      for (std::int64_t n = from; n < to; ++n) wide.push_back(made());
    }
    tensor = {{tensor.shape[0], cols / from * to}, std::move(wide)};
  }
  // Removes all tensors whose names begin with `prefix`.
  void erase(const std::string& prefix) {
    std::erase_if(tensors, [&](const auto& entry) { return entry.first.starts_with(prefix); });
  }
};

// Writes the model of `source`, a directory in the format of Hugging Face, with changed f32 weights and the same
// config.json, and without a tokenizer. Returns the new directory, which is deleted when the process ends.
inline std::string write_changed(const std::string& source, const std::string& name,
                                 const std::function<void(ChangedWeights&)>& change) {
  namespace fs = std::filesystem;
  const auto from = checkpoint::open_checkpoint(Env::system(), source).or_throw();
  ChangedWeights weights;
  for (const checkpoint::RawTensor& tensor : from->tensors) {
    std::vector<std::byte> raw(tensor.bytes);
    from->read(tensor, 0, raw).or_throw();
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
    tensor.format->unpack(raw.data(), values);
    weights.tensors[tensor.name] = {tensor.shape, std::move(values)};
  }
  change(weights);
  static const struct Root {
    ~Root() { fs::remove_all(path); }
    std::string path = testing::TempDir() + "millrace_changed_" + std::to_string(getpid());
  } root;
  const std::string directory = root.path + "/" + name;
  fs::create_directories(directory);
  fs::copy_file(source + "/config.json", directory + "/config.json", fs::copy_options::overwrite_existing);
  std::vector<checkpoint::TensorSpec> specs;
  std::vector<const ChangedWeights::Tensor*> data;
  for (const auto& [tensor, content] : weights.tensors) {
    specs.push_back({tensor, quant::find_format("f32"), content.shape});
    data.push_back(&content);
  }
  checkpoint::write_safetensors(
      directory + "/model.safetensors", {}, specs,
      [&](std::size_t i, const checkpoint::DataSink& sink) { return sink(std::as_bytes(std::span(data[i]->values))); })
      .or_throw();
  return directory;
}

}  // namespace millrace::model
