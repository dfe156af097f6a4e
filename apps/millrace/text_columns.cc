#include "text_columns.h"

#include <algorithm>

namespace millrace::app {
namespace {

constexpr std::size_t kMargin = 2;       // before names
constexpr std::size_t kColumn = 30;      // where texts begin
constexpr std::size_t kSmallColumn = 6;  // there, where the width is less than
constexpr std::size_t kWidthOfTwo = 64;

// The words of `text` in lines of at most `width`.
std::vector<std::string> lines_of(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    for (; word.size() > width; word.remove_prefix(width)) {
      lines.back() = word.substr(0, width);
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + std::string(word);
  }
  return lines;
}

std::string spaces(std::size_t n) { return std::string(n, ' '); }

}  // namespace

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  for (const std::string& line : lines_of(text, width - indent)) {
    out += (out.empty() ? "" : spaces(indent)) + line + "\n";
  }
  return out;
}

std::string with_lines_wrapped(std::string_view text, std::size_t width) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(indent);
    const bool command = line.starts_with("millrace ");
    const std::vector<std::string> lines = lines_of(line, width - indent - (command ? 2 : 0));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool broken = command && i + 1 < lines.size();
      out += spaces(indent) + lines[i] + (broken ? " \\\n" : "\n");
    }
  }
  return out;
}

std::string in_columns(const std::vector<TextRow>& rows, std::size_t width) {
  const bool beside = width >= kWidthOfTwo;
  const std::size_t column = beside ? kColumn : kSmallColumn;
  std::string out;
  for (const TextRow& row : rows) {
    const std::vector<std::string> names = lines_of(row.name, width - kMargin);
    for (const std::string& name : names) out += spaces(kMargin) + name + "\n";
    std::size_t used = 0;
    if (beside && names.size() == 1 && kMargin + names[0].size() + 2 <= column) {
      used = kMargin + names[0].size();
      out.pop_back();  // the text goes on in the same line
    }
    for (const std::string& line : lines_of(row.text, width - column)) {
      out += spaces(column - used) + line + "\n";
      used = 0;
    }
  }
  return out;
}

}  // namespace millrace::app
