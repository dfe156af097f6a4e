#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::checkpoint {

// One entry of a safetensors header, as in the JSON.
struct SafetensorsEntry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape;    // at most kMaxHeaderDims
  std::optional<std::vector<std::uint64_t>> offsets;  // {begin, end}, relative to the data section
};

inline constexpr std::size_t kMaxHeaderDims = 8;

// Parses the JSON in one pass, without building a tree. Throws LoadError naming `file` and the tensor for invalid JSON,
// or a field that is unknown, missing, repeated or of another type.
std::vector<SafetensorsEntry> parse_safetensors_header(const std::string& file, std::string_view json);
// The texts of its __metadata__ by name.
std::map<std::string, std::string> parse_safetensors_metadata(const std::string& file, std::string_view json);

}  // namespace millrace::checkpoint
