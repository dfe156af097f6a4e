#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "text/pre_tokenizer.h"

namespace millrace::text {

// A regular expression of a Split pre-tokenizer for which scanners/ has code: the same matches, many times faster, with
// the Unicode version of the models' authors. Every such expression matches all of a text.
struct KnownExpression {
  std::string_view regex;
  std::unique_ptr<const WordSplitter> (*make)();
};
std::span<const KnownExpression> all_scanners();  // generated: one file of scanners/ each

// The scanner for this expression, found by its text; null when there is none.
std::unique_ptr<const WordSplitter> make_known_splitter(std::string_view regex);

// clang-format off
// Expressions that more than one place names.
// GPT-2's, which the ByteLevel pre-tokenizer implies.
inline constexpr std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// cl100k_base, Llama 3, DBRX, GLM 4.
inline constexpr std::string_view kLlama3Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n])"
    R"(+|\s+(?!\S)|\s+)";
// Qwen 2 to 3, StableLM 2.
inline constexpr std::string_view kQwen2Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+)"
    R"((?!\S)|\s+)";
// Qwen 3.5.
inline constexpr std::string_view kQwen35Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s)"
    R"(*[\r\n]+|\s+(?!\S)|\s+)";
// o200k_base, GPT-4o, gpt-oss, Llama 4.
inline constexpr std::string_view kO200kRegex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll)"
    R"(|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|)"
    R"('m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Mistral NeMo and later.
inline constexpr std::string_view kTekkenRegex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{L)"
    R"(u}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s)"
    R"(+(?!\S)|\s+)";
// The last of DeepSeek V3's three.
inline constexpr std::string_view kDeepseekV3Regex =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)"
    R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kBloomRegex =
    " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+";
// clang-format on

}  // namespace millrace::text
