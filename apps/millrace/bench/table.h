#pragma once

#include <string>
#include <vector>

namespace millrace::bench {

// A text table for people: text columns are aligned left, numbers right. A column is as wide as its widest entry.
class Table {
 public:
  struct Column {
    std::string header;  // with its unit
    bool text = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row);  // as many entries as columns, else a CHECK fails
  std::string str() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// A number with at least three significant digits, no exponent and at most six decimals: "0.123", "12.3", "1234". "-"
// stands for no value: for 0, infinity and NaN.
std::string rounded(double value);
// A share of a limit in percent, without decimals; "unknown" above 100: the limit was measured under load.
std::string percent_text(double percent);

}  // namespace millrace::bench
