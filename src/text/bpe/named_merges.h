#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer_parts.h"

namespace millrace::text {

// Builds the merges of a file that lists their two sides as text, the merge of lowest rank first.
class NamedMerges {
 public:
  // Errors name a merge as `before`, its index in the list, `after`.
  NamedMerges(const TokenizerParts& parts, std::string before, std::string after, std::size_t count)
      : parts_(parts), before_(std::move(before)), after_(std::move(after)) {
    merges_.reserve(count);
  }
  // Adds a merge whose result is left + right, without the `prefix` of right. Throws LoadError if one of the three is
  // not a token.
  void add(std::string_view left, std::string_view right, std::string_view prefix = "");
  std::size_t size() const noexcept { return rank_; }
  MergeTable take() { return std::move(merges_); }

 private:
  const TokenizerParts& parts_;
  std::string before_, after_, whole_;
  std::uint32_t rank_ = 0;
  MergeTable merges_;
};

}  // namespace millrace::text
