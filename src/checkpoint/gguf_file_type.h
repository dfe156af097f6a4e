#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::checkpoint {

// What general.file_type of a GGUF file means (enum llama_ftype of llama.cpp): 15 is "Q4_K_M". Empty for others, such
// as 1024, which says that the writer did not know.
std::string_view file_type_name(std::int64_t type) noexcept;
// The number for a file whose matrices have that format throughout; 1024 for formats without one.
std::uint32_t gguf_file_type(std::string_view format) noexcept;

}  // namespace millrace::checkpoint
