#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint/gguf_value.h"

namespace millrace::checkpoint {

using GgufEntry = std::pair<std::string, GgufValue>;

// The key-value section of one GGUF file, read by key and expected type. A value of another type, or a missing required
// one, is a LoadError naming file, key, expected and found type.
class GgufMetadata {
 public:
  explicit GgufMetadata(std::string file) : file_(std::move(file)) {}
  void add(std::string key, GgufValue value);  // a repeated key is a LoadError

  const std::string& file() const noexcept { return file_; }
  std::span<const GgufEntry> entries() const noexcept { return entries_; }
  const GgufValue* find(const std::string& key) const;

  // Any integer type, if the value fits into int64.
  std::optional<std::int64_t> integer(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;  // any integer or float type
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  std::int64_t required_integer(const std::string& key) const;
  double required_number(const std::string& key) const;
  std::string required_text(const std::string& key) const;
  // An integer, or an array of equal integers (counts for each layer).
  std::optional<std::int64_t> uniform_integer(const std::string& key) const;
  // The integers of an array, or one integer. The key must be there.
  std::vector<std::int64_t> integers(const std::string& key) const;

  std::optional<std::vector<float>> floats(const std::string& key) const;
  std::optional<std::vector<std::int32_t>> int32s(const std::string& key) const;
  std::optional<std::string> bytes(const std::string& key) const;  // an array of uint8 or int8
  std::size_t string_count(const std::string& key) const;          // elements of an array of strings; 0 if absent
  // Moves the strings out; the key keeps an empty array.
  std::optional<std::vector<std::string>> take_strings(const std::string& key);

 private:
  [[noreturn]] void wrong_type(const std::string& key, std::string_view expected, const GgufValue& found) const;
  [[noreturn]] void missing(const std::string& key) const;
  template <typename T>
  const std::vector<T>* array(const std::string& key, std::string_view expected) const;

  std::string file_;
  std::vector<GgufEntry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace millrace::checkpoint
