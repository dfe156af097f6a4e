#pragma once

// For tests: the table in docs/decode.md of the features that ran together.

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace millrace::engine {

inline const std::string kCombinationDocs = std::string(MILLRACE_TEST_DATA) + "/../../docs/decode.md";
inline constexpr const char* kCombinationsBegin = "<!-- combinations: written by engine_test -->\n";
inline constexpr const char* kCombinationsEnd = "<!-- end of combinations -->\n";

// Which two features were seen together.
class SeenFeatures {
 public:
  void add(const std::vector<std::string>& names) {
    for (const std::string& a : names) {
      for (const std::string& b : names) pairs_.insert({a, b});
    }
    ++combinations_;
  }
  // Rows and columns are features; those of one kind exclude each other.
  std::string table(const std::vector<std::vector<std::string>>& kinds) const {
    std::ostringstream out;
    out << combinations_ << " combinations gave the tokens, texts and scores of the plain path:\n\n| |";
    std::vector<std::string> columns;
    for (std::size_t k = 1; k < kinds.size(); ++k) columns.insert(columns.end(), kinds[k].begin(), kinds[k].end());
    for (const std::string& column : columns) out << " " << column << " |";
    out << "\n|---|" << [&] {
      std::string rule;
      for (std::size_t i = 0; i < columns.size(); ++i) rule += "---|";
      return rule;
    }() << "\n";
    for (std::size_t k = 0; k + 1 < kinds.size(); ++k) {
      for (const std::string& row : kinds[k]) {
        out << "| " << row << " |";
        for (std::size_t c = 1; c < kinds.size(); ++c) {
          for (const std::string& column : kinds[c]) {
            out << (c <= k ? "  |" : pairs_.contains({row, column}) ? " yes |" : " **no** |");
          }
        }
        out << "\n";
      }
    }
    return out.str();
  }

 private:
  std::set<std::pair<std::string, std::string>> pairs_;
  int combinations_ = 0;
};

// The table in the docs, or what is there instead.
inline std::string documented() {
  std::ifstream file(kCombinationDocs);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto begin = text.find(kCombinationsBegin), end = text.find(kCombinationsEnd);
  if (begin == std::string::npos || end == std::string::npos) return text;
  const auto from = begin + std::string(kCombinationsBegin).size();
  return text.substr(from, end - from);
}

inline void write_documented(const std::string& table) {
  std::ifstream in(kCombinationDocs);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto from = text.find(kCombinationsBegin) + std::string(kCombinationsBegin).size();
  text.replace(from, text.find(kCombinationsEnd) - from, table);
  std::ofstream(kCombinationDocs) << text;
}

}  // namespace millrace::engine
