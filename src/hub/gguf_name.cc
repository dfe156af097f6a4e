#include "hub/gguf_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "base/lower_case.h"
#include "hub/repository_file.h"

namespace millrace::hub {
namespace {

constexpr std::string_view kExtension = ".gguf";

std::string upper_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_separator(char c) { return c == '-' || c == '.' || c == '_' || c == '/'; }

// Bytes of the quantization that `text` (upper case) begins with; 0 = none.
std::size_t quantization_length(std::string_view text) {
  constexpr std::string_view kWhole[] = {"BF16", "F16", "F32", "FP16", "FP32", "MXFP4_MOE", "MXFP4", "NVFP4"};
  // After "Q4_" or "IQ4_": longest first.
  constexpr std::string_view kVariants[] = {"K_XXL", "K_XL", "K_XS", "K_L", "K_M", "K_S", "K", "0_4_4", "0_4_8",
                                            "0_8_8", "XXS",  "XS",   "XL",  "NL",  "S",   "M", "0",     "1"};
  const auto ends = [text](std::size_t n) { return n == text.size() || is_separator(text[n]); };
  for (const std::string_view whole : kWhole) {
    if (text.starts_with(whole) && ends(whole.size())) return whole.size();
  }
  std::size_t at = text.starts_with("UD-") ? 3 : 0;
  if (text.substr(at).starts_with("IQ") || text.substr(at).starts_with("TQ")) ++at;
  if (at + 3 > text.size() || text[at] != 'Q' || !is_digit(text[at + 1]) || text[at + 2] != '_') return 0;
  at += 3;
  for (const std::string_view variant : kVariants) {
    if (text.substr(at).starts_with(variant) && ends(at + variant.size())) return at + variant.size();
  }
  return 0;
}

// The last quantization named in `text`: "Qwen3-Q8-tuned-Q4_K_M" is Q4_K_M. "UD-" belongs to what follows it.
std::string find_quantization(std::string_view text) {
  const std::string upper = upper_case(text);
  std::string found;
  for (std::size_t at = 0; at < upper.size();) {
    const bool starts = at == 0 || is_separator(upper[at - 1]);
    const std::size_t n = starts ? quantization_length(std::string_view(upper).substr(at)) : 0;
    if (n > 0) found = upper.substr(at, n);
    at += std::max<std::size_t>(n, 1);
  }
  return found;
}

int number(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
}

// Takes "-00001-of-00003" off the stem.
void take_shard(GgufName& name) {
  constexpr std::size_t kSuffix = std::string_view("-00001-of-00003").size();
  if (name.stem.size() <= kSuffix) return;
  const std::string_view suffix = std::string_view(name.stem).substr(name.stem.size() - kSuffix);
  if (suffix[0] != '-' || suffix.substr(6, 4) != "-of-") return;
  const int part = number(suffix.substr(1, 5)), parts = number(suffix.substr(10, 5));
  if (part < 1 || parts < part) return;
  name.part = part;
  name.parts = parts;
  name.stem.resize(name.stem.size() - kSuffix);
}

constexpr std::string_view kPreferred[] = {
    "Q4_K_M",     "Q4_K_S",   "Q4_0",     "Q4_1",       "IQ4_NL",   "IQ4_XS",     "Q4_K",       "UD-Q4_K_XL",
    "Q4_K_XL",    "Q4_K_L",   "MXFP4",    "MXFP4_MOE",  "NVFP4",    "Q5_K_M",     "Q5_K_S",     "Q5_K",
    "Q5_K_L",     "Q5_0",     "Q5_1",     "Q8_0",       "Q6_K",     "Q6_K_L",     "UD-Q5_K_XL", "UD-Q6_K_XL",
    "UD-Q8_K_XL", "Q3_K_M",   "Q3_K_L",   "Q3_K_S",     "Q3_K",     "Q3_K_XL",    "UD-Q3_K_XL", "IQ3_M",
    "IQ3_S",      "IQ3_XS",   "IQ3_XXS",  "UD-IQ3_XXS", "Q2_K",     "Q2_K_L",     "Q2_K_S",     "UD-Q2_K_XL",
    "IQ2_M",      "UD-IQ2_M", "IQ2_S",    "IQ2_XS",     "IQ2_XXS",  "UD-IQ2_XXS", "TQ2_0",      "TQ1_0",
    "Q2_0",       "IQ1_M",    "UD-IQ1_M", "IQ1_S",      "UD-IQ1_S", "Q1_0",       "BF16",       "F16",
    "FP16",       "F32",      "FP32"};

}  // namespace

bool is_gguf_name(std::string_view path) { return lower_case(path).ends_with(kExtension); }

bool is_auxiliary_gguf(std::string_view path) {
  const std::string name = lower_case(base_name(path));
  return name.find("mmproj") != std::string::npos || name.find("imatrix") != std::string::npos;
}

GgufName parse_gguf_name(std::string_view path) {
  GgufName name;
  name.stem = path.substr(0, path.size() - std::min(path.size(), is_gguf_name(path) ? kExtension.size() : 0));
  take_shard(name);
  name.quantization = find_quantization(base_name(name.stem));
  if (name.quantization.empty()) name.quantization = find_quantization(name.stem);  // its folder's name
  return name;
}

int preference(std::string_view quantization) {
  const auto* it = std::ranges::find(kPreferred, quantization);
  return static_cast<int>(std::distance(std::begin(kPreferred), it));
}

bool is_full_precision(std::string_view quantization) {
  return quantization == "BF16" || quantization == "F16" || quantization == "FP16" || quantization == "F32" ||
         quantization == "FP32";
}

}  // namespace millrace::hub
