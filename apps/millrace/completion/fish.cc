#include <algorithm>

#include "completion/command_words.h"
#include "completion/script.h"

namespace millrace::app::completion {
namespace {

// Which command the line has so far, without its options: "bench serve". Words that are no commands end the search, and
// values of options may be such words.
constexpr const char* kFishFunctions = R"sh(# fish completion for millrace: millrace completion fish | source
function __millrace_at
    set -l path
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and continue
        contains -- (string join ' ' -- $path $word) $__millrace_paths; or continue
        set path $path $word
    end
    test "$argv[1]" = "$path"
end
function __millrace_models
    command millrace list --names 2>/dev/null
    __fish_complete_path (commandline -ct) | string match -r '.*(?:/|\.gguf)(?:\t.*)?$'
end
complete -c millrace -e
complete -c millrace -f
)sh";

// Options of complete that offer what `word` may be.
std::string fish_answers(const Word& word) {
  if (word.other == Free::kModel) return " -x -a '(__millrace_models)'";
  if (word.values.empty()) return word.other == Free::kFile ? " -r -F" : " -x";
  return (word.other == Free::kFile ? " -r -F -a " : " -x -a ") + shell_quoted(join(word.values));
}

}  // namespace

std::string fish_script(const CLI::App& root) {
  const std::vector<CommandWords> all = all_command_words(root);
  std::string out = "set -g __millrace_paths";
  for (const CommandWords& command : all) {
    if (!command.path.empty()) out += " " + shell_quoted(command.path);
  }
  out += "\n";
  for (const CommandWords& command : all) {
    const std::string prefix = "complete -c millrace -n " + shell_quoted("__millrace_at " + shell_quoted(command.path));
    for (std::size_t i = 0; i < command.commands.size(); ++i) {
      out += prefix + " -f -a " + shell_quoted(command.commands[i]) + " -d " +
             shell_quoted(command.command_descriptions[i]) + "\n";
    }
    for (const Word& option : command.options) {
      out += prefix;
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.takes_value) out += fish_answers(option);
      out += " -d " + shell_quoted(option.description) + "\n";
    }
    for (const Word& one : command.positionals) {
      const std::string offered = fish_answers(one);
      out += prefix + (offered == " -r -F" ? " -F" : offered == " -x" ? " -f" : " -k -f" + offered.substr(3)) + "\n";
    }
  }
  return kFishFunctions + out;
}

}  // namespace millrace::app::completion
