#pragma once

#include <string>
#include <string_view>

namespace millrace::hub {

// The parts of a .gguf file's name by the conventions of repositories: "Q8_0/Llama-3-8B.Q8_0-00001-of-00002.gguf".
struct GgufName {
  std::string stem;          // path without shard number and ".gguf", equal for all shards of a model
  std::string quantization;  // "Q4_K_M", "UD-Q4_K_XL", "BF16", in upper case; empty = not in the name
  int part = 1, parts = 1;
};
GgufName parse_gguf_name(std::string_view path);

bool is_gguf_name(std::string_view path);
// Whether it is an image projector or an importance matrix: these are no models, though their names end in .gguf.
bool is_auxiliary_gguf(std::string_view path);

// Rank of a quantization when the user names none; the lowest is chosen. The compromise that most repositories
// recommend comes first, then its neighbours, better ones, smaller ones, full precision; formats that this build cannot
// read are last.
int preference(std::string_view quantization);
bool is_full_precision(std::string_view quantization);

}  // namespace millrace::hub
