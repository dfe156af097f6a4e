#include "chat/jinja/word_wrap.h"

#include <algorithm>

#include "chat/jinja/text_ops.h"
#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

bool is_wrap_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_letter_at(std::string_view text, std::size_t i) {
  if (i >= text.size()) return false;
  const char32_t c = next_code_point(text, i);
  return is_word(c) && !is_decimal(c);
}

// Runs of white space and words; a word also ends after a hyphen between letters.
std::vector<Text> chunks_of(Budget& budget, const Text& text, bool break_on_hyphens) {
  const std::string_view view = text.view();
  std::vector<Text> chunks;
  std::size_t start = 0;
  for (std::size_t i = 0; i < view.size(); ++i) {
    const bool hyphen = break_on_hyphens && view[i] == '-' && i >= start + 2 && is_letter_at(view, i - 1) &&
                        is_letter_at(view, i + 1) && is_letter_at(view, i + 2);
    const bool border = i + 1 == view.size() || is_wrap_space(view[i]) != is_wrap_space(view[i + 1]);
    if (!hyphen && !border) continue;
    chunks.push_back(substring(budget, text, start, i + 1));
    start = i + 1;
  }
  return chunks;
}

}  // namespace

std::vector<Text> word_wrap(Budget& budget, const Text& paragraph, const WrapStyle& style) {
  if (style.width <= 0) fail("invalid width {} (must be > 0)", style.width);
  budget.scan(paragraph.size());
  const auto width = static_cast<std::size_t>(style.width);
  auto chunks = chunks_of(budget, paragraph, style.break_on_hyphens);
  std::reverse(chunks.begin(), chunks.end());
  const auto is_blank = [](const Text& chunk) { return is_wrap_space(chunk.view()[0]); };
  std::vector<Text> lines;
  while (!chunks.empty()) {
    budget.step();
    if (!lines.empty() && is_blank(chunks.back())) {
      chunks.pop_back();
      if (chunks.empty()) break;
    }
    std::vector<Text> line;
    std::size_t length = 0;
    while (!chunks.empty() && length + chunks.back().length() <= width) {
      length += chunks.back().length();
      line.push_back(std::move(chunks.back()));
      chunks.pop_back();
    }
    if (!chunks.empty() && chunks.back().length() > width) {
      const std::size_t room = width - length;
      if (style.break_long_words && room > 0) {
        const Text chunk = chunks.back();
        const std::size_t cut = chunk.offset_of(room);
        budget.scan(chunk.size());
        line.push_back(substring(budget, chunk, 0, cut));
        chunks.back() = substring(budget, chunk, cut, chunk.size());
      } else if (line.empty()) {
        line.push_back(std::move(chunks.back()));
        chunks.pop_back();
      }
    }
    if (!line.empty() && is_blank(line.back())) line.pop_back();
    if (!line.empty()) lines.push_back(join(budget, Text(), line));
  }
  return lines;
}

}  // namespace millrace::chat::jinja
