#include "text/charsmap.h"

#include "base/error.h"
#include "unicode/code_points.h"

namespace millrace::text {
namespace {

// The fields of a unit of darts-clone.
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FF; }
std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t out = 0;
  for (std::size_t i = 4; i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

[[noreturn]] void damaged(std::string_view field, std::string_view what) {
  throw_load_error(ErrorCode::kBadFile, std::string(field), "{}: {}", field, what);
}

}  // namespace

Charsmap::Charsmap(std::string_view blob, std::string_view field) {
  if (blob.size() < 4) damaged(field, "it has no length of its array");
  const std::size_t array_bytes = little_endian(blob);
  blob.remove_prefix(4);
  if (array_bytes == 0 || array_bytes % 4 != 0 || array_bytes > blob.size()) {
    throw_load_error(ErrorCode::kBadFile, std::string(field), "{}: an array of {} bytes in {} bytes", field,
                     array_bytes, blob.size());
  }
  for (std::size_t i = 0; i < array_bytes; i += 4) units_.push_back(little_endian(blob.substr(i, 4)));
  texts_ = blob.substr(array_bytes);
  if (!unicode::is_valid_utf8(texts_)) damaged(field, "the texts of its rules are not UTF-8");
  texts_.push_back('\0');
  for (std::size_t at = 0; at < texts_.size();) {
    const std::size_t end = texts_.find('\0', at);
    if (end - at > kMaxRuleBytes) {
      throw_load_error(ErrorCode::kBadFile, std::string(field), "{}: a rule writes {} bytes; the limit is {}", field,
                       end - at, kMaxRuleBytes);
    }
    at = end + 1;
  }
}

bool Charsmap::changes_ascii(char32_t character) const noexcept {
  if (units_.empty() || character == 0) return false;
  std::size_t at = offset_of(units_[0]) ^ character;
  if (at >= units_.size() || label_of(units_[at]) != character) return false;
  if (has_leaf(units_[at])) return true;
  at ^= offset_of(units_[at]);
  for (std::uint32_t second = 1; second < 0x80; ++second) {
    if ((at ^ second) < units_.size() && label_of(units_[at ^ second]) == second) return true;
  }
  return false;
}

// Calls found(size, value) for every rule that begins `text`, the shortest first, until it returns true.
template <typename Found>
void Charsmap::search(std::string_view text, Found found) const noexcept {
  if (units_.empty()) return;
  text = text.substr(0, kMaxKeyBytes);
  std::size_t at = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label_of(units_[at]) != byte) return;
    const std::uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (at >= units_.size()) return;
    if (has_leaf(unit) && found(i + 1, value_of(units_[at]))) return;
  }
}

// A value that is no place of a text makes no rule, so that what comes out is always UTF-8.
Charsmap::Rule Charsmap::rule(std::size_t size, std::uint32_t value) const noexcept {
  if (value >= texts_.size() || (static_cast<unsigned char>(texts_[value]) & 0xC0) == 0x80) return {};
  return {size, std::string_view(texts_.c_str() + value)};
}

Charsmap::Rule Charsmap::longest(std::string_view text) const noexcept {
  Rule out;
  search(text, [&](std::size_t size, std::uint32_t value) {
    out = rule(size, value);
    return false;
  });
  return out;
}

Charsmap::Rule Charsmap::shortest(std::string_view text) const noexcept {
  Rule out;
  search(text, [&](std::size_t size, std::uint32_t value) {
    out = rule(size, value);
    return true;
  });
  return out;
}

}  // namespace millrace::text
