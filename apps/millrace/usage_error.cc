#include "usage_error.h"

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "cli.h"
#include "did_you_mean.h"
#include "foreign_names.h"

namespace millrace::app {
namespace {

// A group of options is a subcommand without a name to the parser.
bool is_option_group(const CLI::App* app) { return app->get_name().empty(); }
bool is_command(const CLI::App* app) { return !is_option_group(app); }

// Names that may stand where an unknown word does.
std::vector<std::string> names_at(const CLI::App& level, bool option) {
  std::vector<std::string> names;
  if (!option) {
    for (const CLI::App* sub : level.get_subcommands(is_command)) names.push_back(sub->get_name());
    return names;
  }
  for (const CLI::Option* known : level.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* group : level.get_subcommands(is_option_group)) {
    const auto more = names_at(*group, option);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
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

// How a command is typed that takes a model; empty where `level` takes none.
std::string command_with_model(const CLI::App& level) {
  if (level.get_parent() == nullptr) return std::string(kRun);
  const bool takes = !level
                          .get_options([](const CLI::Option* option) {
                            return option->get_positional() && option->get_single_name().starts_with("model");
                          })
                          .empty();
  return takes ? path_of(level, " ") : "";
}

std::string unknown_word(const CLI::App& level, const std::string& argument) {
  const CLI::App* parent = level.get_parent();
  const bool option = argument.size() > 1 && argument[0] == '-';
  const std::string word = option ? argument.substr(0, argument.find('=')) : argument;
  const bool has_commands = !level.get_subcommands(is_command).empty();
  const char* what = option ? "unknown option" : has_commands ? "unknown command" : "unexpected argument";
  const std::string text = fmt::format("{}: {} '{}'", place(level), what, word);
  if (option && parent != nullptr && parent->get_option_no_throw(word) != nullptr) {
    return text +
           fmt::format("; it goes before the command: '{} {} ... {}'", parent->get_name(), word, level.get_name());
  }
  if (option) {
    if (const auto answer = answer_to_foreign_option(word, command_with_model(level))) return text + "; " + *answer;
  } else if (parent == nullptr && !own_command(word).empty()) {
    return text + fmt::format("; it is 'millrace {}' here", own_command(word));
  }
  const std::string meant = did_you_mean(word, names_at(level, option));
  return text + (meant.empty() ? fmt::format("; {} lists what there is", help_of(level)) : meant);
}

// The command that the arguments lead to, up to the first for which `stops` is true, which is stored in `found`.
const CLI::App* find_argument(const CLI::App& app, std::span<const std::string> arguments,
                              bool (*stops)(std::string_view), const std::string*& found) {
  const CLI::App* level = &app;
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (stops(argument)) {
      found = &argument;
      break;
    }
    for (const CLI::App* sub : level->get_subcommands(is_command)) {
      if (sub->get_name() == argument) {
        level = sub;
        break;
      }
    }
  }
  return level;
}

// "-ngl" is "-n" with the value "gl" to the parser.
bool is_long_with_one_dash(std::string_view argument) {
  return argument.size() > 2 && argument[0] == '-' && argument[1] != '-' &&
         answer_to_foreign_option(argument, kRun).has_value();
}

// The parser's own messages, of which some read like its source.
std::string in_our_words(std::string text) {
  constexpr std::string_view kOneOf = "Requires at most 1 options be ", kRequired = ": 1 required ";
  if (text.starts_with(kOneOf)) {
    const std::size_t open = text.find('['), close = text.rfind(']');
    if (open == std::string::npos || close < open) return "at most one of several options can be given";
    return fmt::format("at most one of these can be given: {}", text.substr(open + 1, close - open - 1));
  }
  if (const std::size_t at = text.find(kRequired); at != std::string::npos && text.ends_with(" missing")) {
    return text.substr(0, at) + ": its value is missing";
  }
  return text;
}

}  // namespace

std::optional<std::string> hidden_option(const CLI::App& app, std::span<const std::string> arguments) {
  const std::string* found = nullptr;
  const CLI::App* level = find_argument(app, arguments, hides_behind_help, found);
  if (found == nullptr) return std::nullopt;
  return unknown_word(*level, *found);
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error, std::span<const std::string> arguments) {
  const std::string* found = nullptr;
  const CLI::App* level = find_argument(app, arguments, is_long_with_one_dash, found);
  if (found != nullptr) return unknown_word(*level, *found);
  level = &app;
  while (level->remaining_size() == 0 && !level->get_subcommands().empty()) level = level->get_subcommands().back();
  if (level->remaining_size() > 0) return unknown_word(*level, level->remaining().front());
  while (is_option_group(level)) level = level->get_parent();
  return fmt::format("{}: {}; see {}", place(*level), in_our_words(error.what()), help_of(*level));
}

}  // namespace millrace::app
