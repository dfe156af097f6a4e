#include "checkpoint/gguf_file_type.h"

#include <utility>

namespace millrace::checkpoint {
namespace {

struct FileType {
  std::int64_t number;
  std::string_view name;
};
constexpr FileType kFileTypes[] = {
    {0, "F32"},     {1, "F16"},     {2, "Q4_0"},     {3, "Q4_1"},    {7, "Q8_0"},    {8, "Q5_0"},    {9, "Q5_1"},
    {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"},  {13, "Q3_K_L"}, {14, "Q4_K_S"}, {15, "Q4_K_M"}, {16, "Q5_K_S"},
    {17, "Q5_K_M"}, {18, "Q6_K"},   {19, "IQ2_XXS"}, {20, "IQ2_XS"}, {21, "Q2_K_S"}, {22, "IQ3_XS"}, {23, "IQ3_XXS"},
    {24, "IQ1_S"},  {25, "IQ4_NL"}, {26, "IQ3_S"},   {27, "IQ3_M"},  {28, "IQ2_S"},  {29, "IQ2_M"},  {30, "IQ4_XS"},
    {31, "IQ1_M"},  {32, "BF16"},   {36, "TQ1_0"},   {37, "TQ2_0"},  {38, "MXFP4"},  {39, "NVFP4"},  {40, "Q1_0"},
};

}  // namespace

std::string_view file_type_name(std::int64_t type) noexcept {
  for (const FileType& known : kFileTypes) {
    if (known.number == type) return known.name;
  }
  return {};
}

std::uint32_t gguf_file_type(std::string_view format) noexcept {
  constexpr std::pair<std::string_view, std::uint32_t> kTypes[] = {
      {"f32", 0},      {"f16", 1},    {"q4_0", 2},    {"q4_1", 3},   {"q8_0", 7},   {"q5_0", 8},     {"q5_1", 9},
      {"q2_k", 10},    {"q3_k", 11},  {"q4_k", 14},   {"q5_k", 16},  {"q6_k", 18},  {"iq2_xxs", 19}, {"iq2_xs", 20},
      {"iq3_xxs", 23}, {"iq1_s", 24}, {"iq4_nl", 25}, {"iq3_s", 26}, {"iq2_s", 28}, {"iq4_xs", 30},  {"iq1_m", 31},
      {"bf16", 32},    {"tq1_0", 36}, {"tq2_0", 37},  {"mxfp4", 38}, {"q1_0", 40}};
  constexpr std::uint32_t kDrafted = 1024;
  for (const auto& [name, type] : kTypes) {
    if (name == format) return type;
  }
  return kDrafted;
}

}  // namespace millrace::checkpoint
