#include "usage_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "cli.h"

namespace millrace::app {
namespace {

// A name further from the word than this is another name, not a slip.
constexpr std::size_t kMaxDistance = 2;
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

// Names that may stand where `word` does.
std::vector<std::string> names_at(const CLI::App& level, bool option) {
  std::vector<std::string> names;
  if (!option) {
    for (const CLI::App* sub : level.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(sub->get_name());
    return names;
  }
  for (const CLI::Option* known : level.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The nearest name, or nothing. A word that shares no more than a letter or two with a name is no slip of it.
std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = std::min(kMaxDistance + 1, word.size());
  if (word.size() > kMaxWord || word.size() < 2) return best;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance >= least || 2 * distance >= name.size()) continue;
    least = distance;
    best = name;
  }
  return best;
}

// The command and those it belongs to: "millrace", "bench", "latency", with `between` between them.
std::string path_of(const CLI::App& level, const char* between) {
  return level.get_parent() == nullptr ? level.get_name()
                                       : path_of(*level.get_parent(), between) + between + level.get_name();
}

// What to type for help on `level`.
std::string help_of(const CLI::App& level) { return "'" + path_of(level, " ") + " --help'"; }

// "millrace: run"
std::string place(const CLI::App& level) { return path_of(level, ": "); }

std::string unknown_word(const CLI::App& level, const std::string& argument) {
  const CLI::App* parent = level.get_parent();
  const bool option = argument.size() > 1 && argument[0] == '-';
  const std::string word = option ? argument.substr(0, argument.find('=')) : argument;
  const bool has_commands = !level.get_subcommands([](const CLI::App*) { return true; }).empty();
  const char* what = option ? "unknown option" : has_commands ? "unknown command" : "unexpected argument";
  std::string text = fmt::format("{}: {} '{}'", place(level), what, word);
  if (const std::string name = nearest(word, names_at(level, option)); !name.empty()) {
    return text + fmt::format("; did you mean '{}'?", name);
  }
  if (option && parent != nullptr && parent->get_option_no_throw(word) != nullptr) {
    return text +
           fmt::format("; it goes before the command: '{} {} ... {}'", parent->get_name(), word, level.get_name());
  }
  return text + fmt::format("; {} lists what there is", help_of(level));
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* level = &app;
  while (level->remaining_size() == 0 && !level->get_subcommands().empty()) level = level->get_subcommands().back();
  if (level->remaining_size() > 0) return unknown_word(*level, level->remaining().front());
  return fmt::format("{}: {}; see {}", place(*level), error.what(), help_of(*level));
}

}  // namespace millrace::app
