#include "text/gguf_pre_tokenizers.h"

#include <algorithm>
#include <array>

namespace millrace::text {
namespace {

constexpr std::string_view kGpt2 = R"({"type": "ByteLevel", "add_prefix_space": false})";
constexpr std::string_view kDigitsThenGpt2 = R"({"type": "Sequence", "pretokenizers": [
  {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false}]})";
constexpr std::string_view kNfc = R"({"type": "NFC"})";

// One Split by `regex` (a JSON string), then bytes.
#define MILLRACE_SPLIT(regex)                                                               \
  R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": )" regex \
  R"(}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})"

constexpr std::string_view kLlama3 = MILLRACE_SPLIT(
    R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")");
constexpr std::string_view kQwen2 = MILLRACE_SPLIT(
    R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")");

// To add one: its name here, with the tokenizer.json of the models that carry it as the authority.
constexpr std::array kTable = {
    GgufPreTokenizer{.name = "gpt-2", .pre_tokenizer = kGpt2},
    GgufPreTokenizer{.name = "gpt2", .pre_tokenizer = kGpt2},
    GgufPreTokenizer{.name = "llama-bpe", .pre_tokenizer = kLlama3, .ignore_merges = true, .adds_bos = true},
    GgufPreTokenizer{.name = "llama-v3", .pre_tokenizer = kLlama3, .ignore_merges = true, .adds_bos = true},
    GgufPreTokenizer{.name = "llama3", .pre_tokenizer = kLlama3, .ignore_merges = true, .adds_bos = true},
    GgufPreTokenizer{.name = "qwen2", .pre_tokenizer = kQwen2, .normalizer = kNfc},
    GgufPreTokenizer{.name = "smollm", .pre_tokenizer = kDigitsThenGpt2},
    GgufPreTokenizer{.name = "starcoder", .pre_tokenizer = kDigitsThenGpt2},
};

}  // namespace

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) {
  const auto found = std::ranges::find(kTable, name, &GgufPreTokenizer::name);
  return found == kTable.end() ? nullptr : &*found;
}

std::string gguf_pre_tokenizer_names() {
  std::string out;
  for (const GgufPreTokenizer& entry : kTable) out += (out.empty() ? "\"" : ", \"") + std::string(entry.name) + "\"";
  return out;
}

}  // namespace millrace::text
