#pragma once

#include <string>
#include <string_view>

namespace millrace::hub {

// What the name of a .gguf file says, by the conventions of the repositories that hold them:
// "Q8_0/Llama-3-8B.Q8_0-00001-of-00002.gguf".
struct GgufName {
  std::string stem;          // path without the shard's number and ".gguf": the same for all shards of a model
  std::string quantization;  // "Q4_K_M", "UD-Q4_K_XL", "BF16", in upper case; empty = the name says none
  int part = 1, parts = 1;
};
GgufName parse_gguf_name(std::string_view path);

bool is_gguf_name(std::string_view path);
// Image projectors and importance matrices: not models, though their names end in .gguf.
bool is_auxiliary_gguf(std::string_view path);

// A quantization's place in the order in which one is taken when the user names none: 0 is first. The compromise most
// repositories recommend, its neighbours, better ones, smaller ones, full precision; what this build cannot read comes
// last.
int preference(std::string_view quantization);
bool is_full_precision(std::string_view quantization);

}  // namespace millrace::hub
