#include "checkpoint/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

// Events of the parser: {"tensor": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"k":
// "v"}}.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderHandler(const std::string& file) : file_(file) {}

  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;

  bool start_object(std::size_t) override {
    if (depth_ == 1 && !in_metadata_) entries.push_back({.name = name_, .dtype = {}, .shape = {}, .offsets = {}});
    if (depth_ >= 2) unexpected("an object");
    ++depth_;
    return true;
  }

  bool key(std::string& key) override {
    if (depth_ == 1) {
      if (!names_.insert(key).second) fail(key, "the name occurs twice");
      name_ = key;
      in_metadata_ = key == "__metadata__";
    } else {
      field_ = std::move(key);
    }
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata_) {
      const SafetensorsEntry& entry = entries.back();
      if (!entry.dtype) fail(entry.name, "the field 'dtype' is missing");
      if (!entry.shape) fail(entry.name, "the field 'shape' is missing");
      if (!entry.offsets || entry.offsets->size() != 2)
        fail(entry.name, "the field 'data_offsets' must hold two numbers");
    }
    --depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || list_ != nullptr) unexpected("an array");
    SafetensorsEntry& entry = entries.back();
    if (field_ != "shape" && field_ != "data_offsets") unexpected("an array");
    auto& list = field_ == "shape" ? entry.shape : entry.offsets;
    if (list) fail(entry.name, "a field occurs twice");
    list_ = &list.emplace();
    return true;
  }

  bool end_array() override {
    list_ = nullptr;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (list_ == nullptr) unexpected("a number");
    if (list_->size() == kMaxHeaderDims) fail(name_, "too many dimensions");
    list_->push_back(value);
    return true;
  }

  bool string(std::string& value) override {
    if (depth_ == 2 && in_metadata_) {
      metadata[field_] = std::move(value);
      return true;
    }
    if (depth_ != 2 || list_ != nullptr || field_ != "dtype") unexpected("a string");
    if (entries.back().dtype) fail(name_, "a field occurs twice");
    entries.back().dtype = std::move(value);
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(std::int64_t) override { unexpected("a negative number"); }
  bool number_float(double, const std::string&) override { unexpected("a number that is not an integer"); }
  bool binary(nlohmann::json::binary_t&) override { unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    throw_load_error(ErrorCode::kBadFile, file_, "{}: the header is not valid JSON at byte {}", file_, position);
  }

 private:
  [[noreturn]] void fail(const std::string& name, std::string_view why) const {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {}: {}", file_, quote_name(name), why);
  }
  [[noreturn]] void unexpected(std::string_view found) const {
    if (depth_ == 0)
      throw_load_error(ErrorCode::kBadFile, file_, "{}: the header must be an object, found {}", file_, found);
    fail(name_, depth_ == 1 ? "expected an object, found " + std::string(found)
                            : "field " + quote_name(field_) + ": found " + std::string(found));
  }

  const std::string& file_;
  int depth_ = 0;  // open objects
  bool in_metadata_ = false;
  std::string name_, field_;
  std::vector<std::uint64_t>* list_ = nullptr;  // the array being filled
  std::unordered_set<std::string> names_;
};

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(const std::string& file, std::string_view json) {
  HeaderHandler handler(file);
  nlohmann::json::sax_parse(json, &handler);
  return std::move(handler.entries);
}

std::map<std::string, std::string> parse_safetensors_metadata(const std::string& file, std::string_view json) {
  HeaderHandler handler(file);
  nlohmann::json::sax_parse(json, &handler);
  return std::move(handler.metadata);
}

}  // namespace millrace::checkpoint
