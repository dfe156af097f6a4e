#include "text/marked_text.h"

#include <algorithm>
#include <cstring>

#include "unicode/code_points.h"

namespace millrace::text {

MarkedText::MarkedText(std::span<const TextPiece> pieces, bool track_source) {
  for (const TextPiece& piece : pieces) {
    append_marks(piece.text.size(), piece.trusted);
    text_.append(piece.text);
  }
  const bool valid = unicode::is_valid_utf8(text_);
  if (valid && !track_source) return;
  MarkedText source = std::move(*this);
  *this = MarkedText();
  const std::string_view text = source.text_;
  if (track_source) {
    for (std::uint32_t i = 0; i < text.size(); ++i) source.spans_.push_back({i, i + 1});
  }
  for (std::size_t at = 0; at < text.size();) {
    const unicode::Utf8Unit unit = unicode::next_utf8_unit(text.substr(at));
    const bool character = unit.kind == unicode::Utf8Unit::Kind::kCharacter;
    append(character ? text.substr(at, unit.size) : unicode::kReplacementCharacter, source, at, at + unit.size);
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

void MarkedText::truncate(std::size_t size) {
  text_.resize(size);
  if (!marks_.empty()) marks_.resize(size);
  if (!spans_.empty()) spans_.resize(size);
}

void MarkedText::append_spans(std::size_t n, const MarkedText& source, std::size_t begin, std::size_t end) {
  if (source.spans_.empty()) return;
  spans_.insert(spans_.end(), n, {source.spans_[begin].begin, source.spans_[end - 1].end});
}

void MarkedText::append(std::string_view bytes, const MarkedText& source, std::size_t begin, std::size_t end) {
  append_marks(bytes.size(), source.trusted(begin, end));
  append_spans(bytes.size(), source, begin, end);
  text_.append(bytes);
}

void MarkedText::append(const MarkedText& source, std::size_t begin, std::size_t end) {
  const std::string_view bytes = source.text().substr(begin, end - begin);
  if (source.marks_.empty() || source.trusted(begin, end)) {
    append_marks(bytes.size(), source.trusted(begin, end));
  } else {
    for (std::size_t i = begin; i < end; ++i) {
      append_marks(1, source.marks_[i] != 0);
      text_.push_back(source.text_[i]);
    }
    text_.resize(text_.size() - bytes.size());
  }
  if (!source.spans_.empty()) {
    spans_.insert(spans_.end(), source.spans_.begin() + static_cast<std::ptrdiff_t>(begin),
                  source.spans_.begin() + static_cast<std::ptrdiff_t>(end));
  }
  text_.append(bytes);
}

// Hugging Face's rule for alignments (NormalizedString::transform): a character that replaces has the place of the one
// it stands for, an inserted one that of the character before the insertion.
void MarkedText::append(std::span<const CharChange> changes, const MarkedText& source, std::size_t begin,
                        std::size_t end, int removed) {
  const std::string_view text = source.text();
  std::size_t at = begin;  // the next character of the source to be replaced
  const auto skip = [&](int characters) {
    for (; characters > 0 && at < end; --characters) at += unicode::code_point_at(text, at).size;
  };
  skip(removed);
  std::string bytes;
  for (const CharChange& change : changes) {
    bytes.clear();
    unicode::append_utf8(bytes, change.character);
    std::size_t from = at;
    if (change.change > 0 || at >= end) from = at > 0 ? unicode::previous_start(text, at) : 0;
    append(bytes, source, from, from + unicode::code_point_at(text, from).size);
    if (change.change <= 0) skip(1 - change.change);
  }
}

void MarkedText::append_in_front(std::string_view bytes, const MarkedText& source, std::size_t at) {
  append(bytes, source, at, at + unicode::code_point_at(source.text_, at).size);
}

void MarkedText::prepend(std::string_view bytes) {
  if (text_.empty() || bytes.empty()) return;
  MarkedText out;
  out.append_in_front(bytes, *this, 0);
  out.append(*this, 0, text_.size());
  *this = std::move(out);
}

}  // namespace millrace::text
