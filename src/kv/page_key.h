#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sha256.h"
#include "kv/prefix_scope.h"

namespace millrace::kv {

// What a page holds, for ever: SHA-256 over what made it (model, geometry, scope, parent's key, tokens), every field
// with its length.
using PageKey = Sha256Digest;

// The pages of one model in one geometry.
struct PageOrigin {
  std::uint64_t model_key = 0;  // of the weights' content, the precision, the type and layout of pages
  std::size_t page_bytes = 0;
  std::int64_t block_tokens = 0;
  bool operator==(const PageOrigin&) const = default;
};

// Makes keys, page after page. One thread.
class PageKeyMaker {
 public:
  explicit PageKeyMaker(const PageOrigin& origin);
  // `parent` is the key of the page before, null for the first one; `tokens` those of a whole page.
  PageKey make(const PrefixScope& scope, const PageKey* parent, std::span<const std::int32_t> tokens);

 private:
  void field(std::span<const std::byte> bytes);

  std::vector<std::byte> origin_;  // the fields that all pages share
  std::vector<std::byte> text_;
  Sha256 hash_;
};

}  // namespace millrace::kv
