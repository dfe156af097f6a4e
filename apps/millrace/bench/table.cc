#include "bench/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace millrace::bench {
namespace {

// Bytes that begin a character of UTF-8: how wide a text of plain letters is.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  CHECK_EQ(row.size(), columns_.size());
  rows_.push_back(std::move(row));
}

std::string Table::str() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width(column.header));
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  std::string out;
  const auto append = [&](std::size_t c, const std::string& entry) {
    const std::string padding(widths[c] - width(entry), ' ');
    out += (c == 0 ? "" : "  ") + (columns_[c].text ? entry + padding : padding + entry);
  };
  const auto end_line = [&] {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  for (std::size_t c = 0; c < columns_.size(); ++c) append(c, columns_[c].header);
  end_line();
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) append(c, row[c]);
    end_line();
  }
  return out;
}

std::string rounded(double value) {
  if (value == 0.0 || !std::isfinite(value)) return "-";
  const int digits = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(3 - digits, 0, 6));
}

std::string percent_text(double percent) { return percent > 100.0 ? "unknown" : fmt::format("{:.0f}", percent); }

}  // namespace millrace::bench
