#include "chat/nearest_name.h"

#include <algorithm>

namespace millrace::app {
namespace {

constexpr std::size_t kMostWrong = 2;

std::size_t wrong_letters(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
  if (word.size() < 2 || word.size() > 64) return "";
  for (const std::string& name : names) {
    if (name.starts_with(word)) return name;
  }
  std::string best;
  std::size_t least = kMostWrong + 1;
  for (const std::string& name : names) {
    const std::size_t wrong = wrong_letters(word, name);
    if (wrong >= least || 2 * wrong >= name.size()) continue;
    least = wrong;
    best = name;
  }
  return best;
}

}  // namespace millrace::app
