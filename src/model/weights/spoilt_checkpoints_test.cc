// Checkpoints of tests/golden/quantized, each spoilt in one place by a recipe of tests/golden/quantized_bad.json: an
// error has to name that place. What recipes say, and how it is meant: tests/golden/quantized_maker/spoil.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/testing/runner.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path golden_folder() { return fs::path(MILLRACE_TEST_DATA) / "../golden"; }

const std::map<std::string, std::size_t> kValueBytes = {{"BOOL", 1},    {"U8", 1},  {"I8", 1},   {"F8_E4M3", 1},
                                                        {"F8_E8M0", 1}, {"F16", 2}, {"BF16", 2}, {"I16", 2},
                                                        {"U32", 4},     {"I32", 4}, {"F32", 4},  {"I64", 8}};

struct FileTensor {
  std::string name, dtype;
  std::vector<std::size_t> shape;
  std::string bytes;

  std::size_t value_bytes() const { return kValueBytes.at(dtype); }
  void resize(std::vector<std::size_t> to) {
    shape = std::move(to);
    std::size_t size = value_bytes();
    for (const std::size_t dim : shape) size *= dim;
    bytes.resize(size, '\0');
  }
  void set_text(const std::string& text) {
    bytes = text;
    shape = {text.size()};
  }
};

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

void set_values(json& document, const json& values) {
  for (const auto& [pointer, value] : values.items()) document[json::json_pointer(pointer)] = value;
}

// The files of one checkpoint, in the order of the tensors' bytes.
class Files {
 public:
  explicit Files(const fs::path& folder)
      : config_(json::parse(read_file(Env::system(), folder / "config.json", 1 << 20).or_throw())) {
    const std::string file = read_file(Env::system(), folder / "model.safetensors", 1 << 20).or_throw();
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    const json header = json::parse(file.substr(8, length));
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        metadata_ = entry;
        continue;
      }
      const auto begin = entry["data_offsets"][0].get<std::size_t>(), end = entry["data_offsets"][1].get<std::size_t>();
      tensors_.push_back({name, entry["dtype"], entry["shape"], file.substr(8 + length + begin, end - begin)});
      begins_[name] = begin;
    }
    std::ranges::sort(tensors_, {}, [this](const FileTensor& tensor) { return begins_.at(tensor.name); });
  }

  void apply(const std::string& kind, const json& what) {
    if (kind == "set_config") return set_values(config_, what);
    if (kind == "set_metadata") return metadata_.update(what);
    if (kind == "remove_metadata") {
      metadata_.erase(what.get<std::string>());
    } else if (kind == "remove_config") {
      const json::json_pointer at(what.get<std::string>());
      config_[at.parent_pointer()].erase(at.back());
    } else if (kind == "remove_tensor") {
      std::erase_if(tensors_, [&](const FileTensor& tensor) { return tensor.name == what.get<std::string>(); });
    } else if (kind == "rename_tensor") {
      find(what["from"]).name = what["to"];
    } else if (kind == "add_tensor") {
      tensors_.push_back({what["tensor"], what["dtype"], {}, ""});
      tensors_.back().resize(what["shape"]);
    } else if (kind == "truncate_file") {
      end_ = {what["tensor"], what["bytes"]};
    } else {
      change(find(what["tensor"]), kind, what);
    }
  }

  void write(const fs::path& folder) const {
    json header = json::object();
    if (!metadata_.empty()) header["__metadata__"] = metadata_;
    std::string data;
    std::optional<std::size_t> end;
    for (const FileTensor& tensor : tensors_) {
      if (end_ && end_->first == tensor.name) end = data.size() + end_->second;
      header[tensor.name] = {{"dtype", tensor.dtype},
                             {"shape", tensor.shape},
                             {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
      data += tensor.bytes;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    const std::uint64_t length = text.size();
    if (end) data.resize(*end);
    std::ofstream(folder / "model.safetensors", std::ios::binary)
        << std::string(reinterpret_cast<const char*>(&length), sizeof length) << text << data;
    std::ofstream(folder / "config.json") << config_;
  }

 private:
  FileTensor& find(const std::string& name) {
    const auto found = std::ranges::find(tensors_, name, &FileTensor::name);
    if (found == tensors_.end()) throw std::invalid_argument("no tensor " + name);
    return *found;
  }
  static void change(FileTensor& tensor, const std::string& kind, const json& what) {
    if (kind == "set_bytes") {
      const std::string bytes = from_hex(what["hex"]);
      tensor.bytes.replace(what["offset"].get<std::size_t>(), bytes.size(), bytes);
    } else if (kind == "fill") {
      const std::string bytes = from_hex(what["hex"]);
      for (std::size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = bytes[i % bytes.size()];
    } else if (kind == "resize") {
      tensor.resize(what["shape"]);
    } else if (kind == "set_dtype") {
      const std::size_t before = tensor.value_bytes();
      tensor.dtype = what["dtype"];
      if (before != tensor.value_bytes()) tensor.shape.back() = tensor.shape.back() * before / tensor.value_bytes();
    } else if (kind == "set_json") {
      json document = json::parse(tensor.bytes);
      set_values(document, what["values"]);
      tensor.set_text(document.dump());
    } else if (kind == "set_text") {
      tensor.set_text(what["text"]);
    } else {
      throw std::invalid_argument("no edit " + kind);
    }
  }

  json config_, metadata_ = json::object();
  std::vector<FileTensor> tensors_;
  std::map<std::string, std::size_t> begins_;
  std::optional<std::pair<std::string, std::size_t>> end_;
};

// The error of opening, of reading every matrix, or of loading the model, whichever comes first.
std::string outcome_of(const fs::path& folder) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), folder);
  if (!checkpoint) return checkpoint.error().message;
  try {
    const CheckpointWeights weights(**checkpoint);
    for (const MatrixInfo& matrix : weights.matrices()) {
      if (matrix.tensors.size() == 1) continue;  // plain ones, of which some have three dimensions
      const auto weight = weights.open(matrix.name, {.rows = matrix.rows, .cols = matrix.cols});
      std::vector<std::byte> rows(weight->format->row_bytes(matrix.cols) * static_cast<std::size_t>(matrix.rows));
      weight->read(0, matrix.rows, rows);
    }
    TestRunner(folder, {.max_length = 32});
  } catch (const LoadError& e) {
    return e.what();
  }
  return "no error";
}

std::vector<json> recipes() {
  const std::string text = read_file(Env::system(), golden_folder() / "quantized_bad.json", 1 << 20).or_throw();
  return json::parse(text).get<std::vector<json>>();
}

class SpoiltCheckpoint : public testing::TestWithParam<json> {};

TEST_P(SpoiltCheckpoint, IsRefusedByTheNameOfWhatIsWrong) {
  const json& recipe = GetParam();
  const fs::path folder = fs::path(testing::TempDir()) / ("spoilt_" + recipe["name"].get<std::string>());
  fs::create_directories(folder);
  Files files(golden_folder() / "quantized" / recipe["base"].get<std::string>());
  for (const json& edit : recipe["edit"]) files.apply(edit.items().begin().key(), edit.items().begin().value());
  files.write(folder);
  const std::string message = outcome_of(folder);
  for (const json& part : recipe["expect"]) {
    EXPECT_NE(message.find(part.get<std::string>()), std::string::npos) << part << " is not in: " << message;
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Recipes, SpoiltCheckpoint, testing::ValuesIn(recipes()),
                         [](const auto& tested) { return tested.param["name"].template get<std::string>(); });

}  // namespace
}  // namespace millrace::model
