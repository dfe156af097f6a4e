#include "screen/markdown_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "screen/inline_markdown.h"

namespace millrace::screen {
namespace {

using Kind = BlockMarker::Kind;

constexpr std::size_t kLongLine = 4096;  // bytes after which a line is shown without waiting for markers
constexpr int kRuleColumns = 40;
constexpr std::size_t kMaxIndent = 16;  // columns of a list in a list

StyledText blanks(std::size_t count) { return {count, StyledChar{' '}}; }

StyledText in_style(std::string_view text, Style style) {
  StyledText out;
  append(out, text, style);
  return out;
}

}  // namespace

void MarkdownStream::push(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    line_ += text.substr(0, end);
    if (end == text.npos) break;
    end_line();
    text.remove_prefix(end + 1);
  }
  if (!line_.empty()) show_line(false);
}

void MarkdownStream::end_line() {
  const bool in_code = !fence_.empty();
  if (in_code) {
    show_code_line();
  } else {
    show_line(true);
  }
  const bool is_row = marker_ && marker_->kind == Kind::kTableRow;
  if (is_row) {
    table_ += line_ + "\n";
  } else {
    out_.put('\n');
  }
  line_.clear();
  marker_.reset();
  content_ = shown_ = 0;
  base_ = kPlain;
}

void MarkdownStream::show_code_line() {
  const auto end = find_block_marker(line_, true);
  out_.set_verbatim(true);
  if (end->kind == Kind::kFence && end->label.starts_with(fence_) &&
      end->content == line_.find_last_not_of(" \t") + 1) {
    out_.put(in_style(line_, kDim));
    fence_.clear();
  } else {
    const std::size_t margin = std::min({fence_indent_, line_.size(), line_.find_first_not_of(' ')});
    out_.put(in_style(look_.styles ? std::string_view(line_).substr(margin) : line_, kCode));
  }
  out_.set_verbatim(false);
}

void MarkdownStream::show_line(bool complete) {
  if (!fence_.empty()) return;  // code is shown by whole lines
  if (!marker_) {
    marker_ = find_block_marker(line_, complete);
    if (!marker_) return;
    if (marker_->kind != Kind::kTableRow) show_table();
    begin(*marker_);
  }
  if (marker_->kind != Kind::kTableRow) show_content(complete);
}

void MarkdownStream::begin(const BlockMarker& marker) {
  content_ = marker.content;
  if (marker.kind == Kind::kFence) return show_fence();
  if (!look_.styles) return begin_source(marker);
  StyledText prefix = blanks(std::min(marker.indent, kMaxIndent)), hang;
  switch (marker.kind) {
    case Kind::kHeading: base_ = marker.level == 1 ? kBold | kUnderline : kBold; break;
    case Kind::kBullet:
      append(prefix, look_.ascii ? "- " : "• ");
      hang = blanks(prefix.size());
      break;
    case Kind::kOrdered:
      append(prefix, marker.label);
      append(prefix, " ");
      hang = blanks(prefix.size());
      break;
    case Kind::kQuote:
      append(prefix, look_.ascii ? "| " : "│ ", kDim);
      hang = prefix;
      break;
    case Kind::kRule: content_ = line_.size(); return show_rule();
    case Kind::kTableRow: return;
    case Kind::kText: hang = prefix; break;
    case Kind::kBlank:
    case Kind::kFence: return;
  }
  out_.put(prefix);
  out_.hang(std::move(hang));
}

// Without styles the markers say what a heading or a list is.
void MarkdownStream::begin_source(const BlockMarker& marker) {
  if (marker.kind == Kind::kTableRow) return;
  out_.put(in_style(std::string_view(line_).substr(0, marker.content), kPlain));
  out_.hang(blanks(marker.kind == Kind::kHeading ? 0 : std::min(marker.content, kMaxIndent)));
}

void MarkdownStream::show_fence() {
  fence_ = std::string(marker_->label);
  fence_indent_ = marker_->indent;
  out_.set_verbatim(true);
  out_.put(in_style(line_, kDim));
  out_.set_verbatim(false);
  content_ = line_.size();
}

void MarkdownStream::show_rule() {
  const int columns = look_.columns();
  const int size = columns > 0 ? std::clamp(columns - 1, 1, kRuleColumns) : kRuleColumns;
  for (int i = 0; i < size; ++i) out_.put(look_.ascii ? U'-' : U'─', kDim);
}

void MarkdownStream::show_content(bool complete) {
  if (content_ >= line_.size()) return;
  const std::string_view content = std::string_view(line_).substr(content_);
  InlineText rendered;
  if (look_.styles) {
    rendered = render_inline(content, base_);
  } else {
    append(rendered.text, content);
    rendered.stable = rendered.text.size();
  }
  const bool too_long = line_.size() > kLongLine;
  const std::size_t end = complete || too_long ? rendered.text.size() : rendered.stable;
  for (; shown_ < end; ++shown_) out_.put(rendered.text[shown_].value, rendered.text[shown_].style);
  if (!too_long || complete) return;
  if (line_.back() == ' ') out_.put(' ', base_);
  content_ = shown_ = 0;
  line_.clear();
}

void MarkdownStream::show_table() {
  if (table_.empty()) return;
  const std::string source = std::exchange(table_, {});
  const auto rows = look_.styles ? render_table(source) : decltype(render_table("")){};
  std::vector<int> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  int total = 0;
  for (const int width : widths) total += width + 3;
  const int columns = look_.columns();
  out_.set_verbatim(true);
  if (rows.empty() || (columns > 0 && total > columns)) {
    out_.put(in_style(source, kPlain));
  } else {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t i = 0; i < rows[r].size(); ++i) {
        if (i > 0) out_.put(in_style(look_.ascii ? " | " : " │ ", kDim));
        out_.put(rows[r][i]);
        if (i + 1 < rows[r].size()) out_.put(blanks(static_cast<std::size_t>(widths[i] - width_of(rows[r][i]))));
      }
      out_.put('\n');
      for (int i = 0; r == 0 && i < total - 3; ++i) out_.put(look_.ascii ? U'-' : U'─', kDim);
      if (r == 0) out_.put('\n');
    }
  }
  out_.set_verbatim(false);
}

void MarkdownStream::finish() {
  if (!fence_.empty()) {
    if (!line_.empty()) show_code_line();
  } else {
    if (!line_.empty()) show_line(true);
    const bool is_row = marker_ && marker_->kind == Kind::kTableRow;
    if (is_row) table_ += line_ + "\n";
    show_table();
  }
  line_.clear();
  marker_.reset();
  content_ = shown_ = 0;
  base_ = kPlain;
  fence_.clear();
  out_.flush();
}

}  // namespace millrace::screen
