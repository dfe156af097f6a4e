#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sha256.h"
#include "kv/prefix_scope.h"

namespace millrace::kv {

// Identity of a page's contents, valid across processes: SHA-256 over everything that they depend on (model, geometry,
// scope, key of the page before, tokens), every field with its length.
using PageKey = Sha256Digest;

// The model and the geometry that pages belong to.
struct PageOrigin {
  std::uint64_t model_key = 0;  // of the weights' content, the precision, and the type and layout of pages
  std::size_t page_bytes = 0;
  std::int64_t block_tokens = 0;
  bool operator==(const PageOrigin&) const = default;
};

// Makes the keys of pages. For one thread at a time.
class PageKeyMaker {
 public:
  explicit PageKeyMaker(const PageOrigin& origin);
  // `scope` is that of the page: without `activated` if it ends before. `parent` is the key of the sequence's page
  // before, null for the first one; `tokens` are those of the whole page.
  PageKey make(const PrefixScope& scope, const PageKey* parent, std::span<const std::int32_t> tokens);

 private:
  void field(std::span<const std::byte> bytes);

  std::vector<std::byte> origin_;  // the fields that all pages share
  std::vector<std::byte> text_;
  Sha256 hash_;
};

}  // namespace millrace::kv
