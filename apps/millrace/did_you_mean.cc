#include "did_you_mean.h"

#include <algorithm>
#include <numeric>

namespace millrace::app {
namespace {

constexpr std::size_t kMaxNames = 3;
// A word of this many letters or fewer has one slip at most: two make another word of it ("lora", "port").
constexpr std::size_t kShort = 5;
constexpr std::size_t kMinPrefix = 3;
// Words are compared with names, none of which is longer; a long word costs nothing then.
constexpr std::size_t kMaxWord = 64;

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment) that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view without_dashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

}  // namespace

std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& names) {
  word = without_dashes(word);
  std::vector<std::pair<std::size_t, std::string>> found;  // how far, and the name
  if (word.size() < 2 || word.size() > kMaxWord) return {};
  const std::size_t limit = word.size() <= kShort ? 1 : 2;
  for (const std::string& name : names) {
    const std::string_view plain = without_dashes(name);
    if (plain == "help" || plain == "help-all" || plain.size() < 2) continue;
    const std::size_t distance = edit_distance(word, plain);
    if (distance <= limit && 2 * distance < plain.size()) {
      found.emplace_back(distance, name);
    } else if (word.size() >= kMinPrefix && plain.starts_with(word)) {
      found.emplace_back(limit + 1, name);
    }
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> near;
  for (auto& [distance, name] : found) {
    if (distance == found.front().first && near.size() < kMaxNames) near.push_back(std::move(name));
  }
  return near;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  std::string text;
  const std::vector<std::string> near = near_names(word, names);
  for (std::size_t i = 0; i < near.size(); ++i) {
    text += (i == 0 ? "'" : i + 1 < near.size() ? ", '" : " or '") + near[i] + "'";
  }
  return text.empty() ? text : "; did you mean " + text + "?";
}

}  // namespace millrace::app
