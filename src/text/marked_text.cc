#include "text/marked_text.h"

#include <cstring>

#include "text/unicode.h"

namespace millrace::text {

MarkedText::MarkedText(std::span<const TextPiece> pieces) {
  for (const TextPiece& piece : pieces) {
    append_marks(piece.text.size(), piece.trusted);
    text_.append(piece.text);
  }
  if (is_valid_utf8(text_)) return;
  const MarkedText source = std::move(*this);
  *this = MarkedText();
  const std::string_view text = source.text_;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Unit unit = next_utf8_unit(text.substr(at));
    const bool valid = unit.kind == Utf8Unit::Kind::kCharacter;
    append(valid ? text.substr(at, unit.size) : kReplacementCharacter, source, at, at + unit.size);
    at += unit.size;
  }
}

bool MarkedText::trusted(std::size_t begin, std::size_t end) const noexcept {
  if (marks_.empty()) return all_trusted_;
  return std::memchr(marks_.data() + begin, 0, end - begin) == nullptr;
}

void MarkedText::append_marks(std::size_t n, bool trusted) {
  if (n == 0) return;
  if (text_.empty()) all_trusted_ = trusted;
  if (marks_.empty()) {
    if (trusted == all_trusted_) return;
    marks_.assign(text_.size(), all_trusted_ ? '\1' : '\0');
  }
  marks_.append(n, trusted ? '\1' : '\0');
}

void MarkedText::append(std::string_view bytes, const MarkedText& source, std::size_t begin, std::size_t end) {
  append_marks(bytes.size(), source.trusted(begin, end));
  text_.append(bytes);
}

void MarkedText::append(const MarkedText& source, std::size_t begin, std::size_t end) {
  const std::string_view bytes = source.text().substr(begin, end - begin);
  if (source.marks_.empty() || source.trusted(begin, end)) return append(bytes, source, begin, end);
  for (std::size_t i = 0; i < bytes.size(); ++i) append(bytes.substr(i, 1), source, begin + i, begin + i + 1);
}

void MarkedText::append_trusted(std::string_view bytes) {
  append_marks(bytes.size(), true);
  text_.append(bytes);
}

}  // namespace millrace::text
