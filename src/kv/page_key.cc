#include "kv/page_key.h"

#include <string_view>

namespace millrace::kv {
namespace {

constexpr std::string_view kTag = "millrace page 2";

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

PageKeyMaker::PageKeyMaker(const PageOrigin& origin) {
  field(std::as_bytes(std::span(kTag)));
  field(bytes_of(origin.model_key));
  field(bytes_of(static_cast<std::uint64_t>(origin.page_bytes)));
  field(bytes_of(origin.block_tokens));
  origin_ = text_;
}

PageKey PageKeyMaker::make(const PrefixScope& scope, const PageKey* parent, std::span<const std::int32_t> tokens) {
  text_.assign(origin_.begin(), origin_.end());
  field(std::as_bytes(std::span(scope.adapter)));
  field(std::as_bytes(std::span(scope.salt)));
  field(parent != nullptr ? std::as_bytes(std::span(*parent)) : std::span<const std::byte>());
  field(std::as_bytes(tokens));
  if (scope.rope_length != 0 || !scope.activated.empty()) field(bytes_of(scope.rope_length));
  if (!scope.activated.empty()) field(std::as_bytes(std::span(scope.activated)));
  hash_.update(text_);
  return hash_.finish();
}

void PageKeyMaker::field(std::span<const std::byte> bytes) {
  const auto length = static_cast<std::uint64_t>(bytes.size());
  const auto prefix = bytes_of(length);
  text_.insert(text_.end(), prefix.begin(), prefix.end());
  text_.insert(text_.end(), bytes.begin(), bytes.end());
}

}  // namespace millrace::kv
