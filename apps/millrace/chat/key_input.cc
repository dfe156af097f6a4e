#include "chat/key_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "unicode/code_points.h"

namespace millrace::app {
namespace {

constexpr std::string_view kPasteBegins = "\x1b[200~", kPasteEnds = "\x1b[201~";
constexpr int kSequenceMs = 50;           // between the bytes of one key
constexpr int kPasteMs = 5000;            // between the pieces of a paste
constexpr std::size_t kTypedPaste = 400;  // bytes of a line that is typed in

bool is_prefix(std::string_view text, std::string_view of) { return text.size() < of.size() && of.starts_with(text); }

// Line ends as '\n', which terminals send as '\r'; without those at the end.
std::string with_newlines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  out.erase(out.find_last_not_of('\n') + 1);
  return out;
}

std::size_t invalid_bytes(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    const unicode::Utf8Unit unit = unicode::next_utf8_unit(text);
    if (unit.kind != unicode::Utf8Unit::Kind::kCharacter) count += unit.size;
    text.remove_prefix(unit.size);
  }
  return count;
}

}  // namespace

int KeyInput::next() {
  for (;;) {
    if (!queue_.empty()) {
      any_ = true;
      const char32_t character = queue_.front();
      queue_.pop_front();
      return static_cast<int>(character);
    }
    if (bytes_.empty() && !fill_(bytes_, -1)) return kEnd;
    while (is_prefix(bytes_, kPasteBegins) && fill_(bytes_, kSequenceMs)) {
    }
    if (bytes_.starts_with(kPasteBegins)) {
      take_paste();
      continue;
    }
    unicode::Utf8Unit unit = unicode::next_utf8_unit(bytes_);
    while (unit.kind == unicode::Utf8Unit::Kind::kIncomplete && fill_(bytes_, kSequenceMs)) {
      unit = unicode::next_utf8_unit(bytes_);
    }
    const bool valid = unit.kind == unicode::Utf8Unit::Kind::kCharacter;
    const char32_t character = valid ? unicode::code_point_at(bytes_, 0).value : 0xFFFD;
    bytes_.erase(0, unit.size);
    any_ = true;
    return static_cast<int>(character);
  }
}

void KeyInput::take_paste() {
  bytes_.erase(0, kPasteBegins.size());
  std::size_t end = bytes_.find(kPasteEnds), looked = 0;
  while (end == std::string::npos) {
    looked = bytes_.size() < kPasteEnds.size() ? 0 : bytes_.size() - kPasteEnds.size();
    if (!fill_(bytes_, kPasteMs)) break;
    end = bytes_.find(kPasteEnds, looked);
  }
  std::string text = with_newlines(std::string_view(bytes_).substr(0, end));
  bytes_.erase(0, end == std::string::npos ? bytes_.size() : end + kPasteEnds.size());
  invalid_ += invalid_bytes(text);
  keep(unicode::replace_invalid_utf8(text));
}

void KeyInput::keep(std::string text) {
  const bool plain = text.size() <= kTypedPaste && std::ranges::none_of(text, [](char c) {
                       return static_cast<unsigned char>(c) < 0x20 && c != '\t';
                     });
  std::string typed = text;
  if (!plain) {
    const auto lines = std::ranges::count(text, '\n') + 1;
    typed = fmt::format("[paste {}: {} {}]", pastes_.size() + 1,
                        lines > 1 ? lines : static_cast<std::ptrdiff_t>(text.size()), lines > 1 ? "lines" : "bytes");
    pastes_.push_back({typed, std::move(text)});
  }
  for (std::size_t at = 0; at < typed.size();) {
    const unicode::CodePoint point = unicode::code_point_at(typed, at);
    queue_.push_back(point.value == '\t' ? U' ' : point.value);
    at += point.size;
  }
}

std::string KeyInput::with_pastes(std::string line) {
  for (const Paste& paste : std::exchange(pastes_, {})) {
    const std::size_t at = line.find(paste.placeholder);
    if (at != std::string::npos) line.replace(at, paste.placeholder.size(), paste.text);
  }
  return line;
}

std::size_t KeyInput::take_invalid() { return std::exchange(invalid_, 0); }

}  // namespace millrace::app
