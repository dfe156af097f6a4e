#include "screen/word_wrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "unicode/code_points.h"

namespace millrace::screen {
namespace {

constexpr int kMinColumns = 8;  // a narrower terminal gets lines of this length

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

}  // namespace

WordWrap::WordWrap(Sink sink, std::function<int()> columns, bool styles)
    : sink_(std::move(sink)), columns_(std::move(columns)), styles_(styles) {}

// The last column stays free: some terminals go to the next line as soon as it is written.
int WordWrap::limit() const {
  const int columns = columns_();
  return columns <= 0 || verbatim_ ? std::numeric_limits<int>::max() : std::max(columns - 1, kMinColumns);
}

void WordWrap::put(const StyledText& text) {
  for (const StyledChar& one : text) put(one.value, one.style);
}

void WordWrap::put(char32_t character, Style style) {
  if (character == '\n') {
    end_word();
    spaces_.clear();
    hang_.clear();
    break_line();
    return;
  }
  if (verbatim_) {
    write({character, style});
    return;
  }
  if (character == ' ' || character == '\t') {
    end_word();
    spaces_.push_back({' ', style});
    return;
  }
  const int width = width_of(character);
  if (width == 2) end_word();  // a line may be broken before and after an ideograph
  word_.push_back({character, style});
  word_width_ += width;
  if (width == 2 || word_width_ >= limit() - width_of(hang_)) end_word();
}

void WordWrap::end_word() {
  if (word_.empty()) return;
  const int most = limit(), indented = width_of(hang_);
  const int needed = column_ + static_cast<int>(spaces_.size()) + word_width_;
  if (needed > most && column_ > indented) {
    spaces_.clear();
    break_line();
  }
  for (const StyledChar& space : spaces_) write(space);
  spaces_.clear();
  for (const StyledChar& one : word_) {
    if (column_ + width_of(one.value) > most && column_ > indented) break_line();
    write(one);
  }
  word_.clear();
  word_width_ = 0;
  if (!out_.empty()) sink_(out_);
  out_.clear();
}

void WordWrap::break_line() {
  write_style(kPlain);
  out_ += '\n';
  column_ = 0;
  for (const StyledChar& one : hang_) write(one);
  sink_(out_);
  out_.clear();
}

void WordWrap::write(const StyledChar& one) {
  write_style(one.style);
  if (is_control(one.value) && !(verbatim_ && one.value == '\t')) {
    out_ += fmt::format("\\x{:02x}", static_cast<unsigned>(one.value));
  } else {
    unicode::append_utf8(out_, one.value);
  }
  column_ += width_of(one.value);
}

void WordWrap::write_style(Style style) {
  if (!styles_ || style == style_) return;
  out_ += "\x1b[0";
  constexpr std::pair<Style, const char*> kCodes[] = {{kBold, ";1"},      {kDim, ";2"},    {kItalic, ";3"},
                                                      {kUnderline, ";4"}, {kStrike, ";9"}, {kCode, ";36"}};
  for (const auto& [bit, code] : kCodes) {
    if ((style & bit) != 0) out_ += code;
  }
  out_ += 'm';
  style_ = style;
}

void WordWrap::hang(StyledText prefix) {
  end_word();
  hang_ = std::move(prefix);
}

void WordWrap::set_verbatim(bool verbatim) {
  end_word();
  for (const StyledChar& space : spaces_) write(space);
  spaces_.clear();
  verbatim_ = verbatim;
}

void WordWrap::flush() {
  end_word();
  spaces_.clear();
  write_style(kPlain);
  if (!out_.empty()) sink_(out_);
  out_.clear();
}

}  // namespace millrace::screen
