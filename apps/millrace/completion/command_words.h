#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace millrace::app::completion {

// What stands for a value that is none of the listed ones.
enum class Free { kNone, kFile, kModel };

// An option or a positional argument as the shells need it.
struct Word {
  std::vector<std::string> names;  // "-f", "--file"; of a positional none
  std::string description;
  bool takes_value = false, repeats = false;
  std::vector<std::string> values;  // what it can be
  Free other = Free::kNone;
};

// A command, the program itself first with the path "".
struct CommandWords {
  std::string path;  // "bench serve"
  std::string description;
  std::vector<std::string> commands, command_descriptions;  // below it
  std::vector<Word> options, positionals;
};

// All commands, each before those below it.
std::vector<CommandWords> all_command_words(const CLI::App& root);

std::string join(const std::vector<std::string>& words, const char* between = " ");
// In single quotes, for any of the three shells.
std::string shell_quoted(const std::string& text);

}  // namespace millrace::app::completion
