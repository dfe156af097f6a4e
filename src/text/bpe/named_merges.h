#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer_parts.h"

namespace millrace::text {

// The merges of a file that spells their two sides, the one of lowest rank first.
class NamedMerges {
 public:
  // `before` and `after` a merge's place in the list name it in errors.
  NamedMerges(const TokenizerParts& parts, std::string before, std::string after, std::size_t count)
      : parts_(parts), before_(std::move(before)), after_(std::move(after)) {
    merges_.reserve(count);
  }
  // left + right, less the `prefix` of the latter, is a token. Throws LoadError where one of the three is none.
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
