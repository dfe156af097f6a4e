#pragma once

#include <string>
#include <vector>

namespace millrace::bench {

// A table for people: texts left-aligned, numbers right-aligned, columns as wide as their widest entry.
class Table {
 public:
  struct Column {
    std::string header;  // includes the unit
    bool text = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row);  // one entry for each column
  std::string str() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Three significant digits and no exponent: "0.123", "12.3", "1234"; "-" for 0, which means "no value".
std::string rounded(double value);

}  // namespace millrace::bench
