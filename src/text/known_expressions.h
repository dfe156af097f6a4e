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

// GPT-2's, which the ByteLevel pre-tokenizer implies.
inline constexpr std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace millrace::text
