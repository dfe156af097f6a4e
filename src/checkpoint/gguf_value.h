#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace::checkpoint {

// One metadata value of a GGUF file. The alternatives are in the order of GGUF's numbers of value types (0 = uint8 ...
// 7 = bool, 8 = string, 9 = array ... 12 = float64), so index() is the type id.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
struct GgufArray;
using GgufArrayElements =
    std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                 std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>, std::vector<float>,
                 std::vector<bool>, std::vector<std::string>, std::vector<GgufArray>, std::vector<std::uint64_t>,
                 std::vector<std::int64_t>, std::vector<double>>;
struct GgufArray {
  GgufArrayElements elements;
};
using GgufValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                               float, bool, std::string, GgufArray, std::uint64_t, std::int64_t, double>;

bool operator==(const GgufArray& a, const GgufArray& b);

inline constexpr std::uint32_t kGgufTypes = 13;
inline constexpr int kGgufMaxArrayDepth = 4;  // an array of scalars has depth 1

std::string_view gguf_type_name(std::uint32_t type) noexcept;  // "uint32"; "unknown" from kGgufTypes on
std::string gguf_type_name(const GgufValue& value);            // "uint32", "array of string"

}  // namespace millrace::checkpoint
