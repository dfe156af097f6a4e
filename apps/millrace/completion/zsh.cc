#include "completion/command_words.h"
#include "completion/script.h"

namespace millrace::app::completion {
namespace {

constexpr const char* kZshFunctions = R"sh(#compdef millrace
# zsh completion for millrace: a file _millrace in $fpath, or source <(millrace completion zsh)
_millrace_models() {
  local -a names=(${(f)"$(_call_program models millrace list --names 2>/dev/null)"})
  compadd -a names
  _files -g '*.gguf(-.)'
}
)sh";

// Inside a specification of _arguments and _describe.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const Word& word) {
  if (word.other == Free::kModel) return "_millrace_models";
  if (word.values.empty()) return word.other == Free::kFile ? "_files" : " ";
  const std::string list = "(" + join(word.values) + ")";
  if (word.other == Free::kNone) return list;
  return "{ compadd -- " + join(word.values) + "; _files }";
}

std::string zsh_name(const std::string& path) {
  std::string name = "_millrace";
  for (const char c : path.empty() ? path : " " + path) name += c == ' ' || c == '-' ? '_' : c;
  return name;
}

std::string zsh_options(const CommandWords& command) {
  std::string out;
  for (const Word& option : command.options) {
    for (const std::string& name : option.names) {
      const std::string value = option.takes_value ? ":value:" + zsh_action(option) : "";
      out += " \\\n    " + shell_quoted("*" + name + "[" + zsh_text(option.description) + "]" + value);
    }
  }
  return out;
}

std::string zsh_function(const CommandWords& command) {
  std::string out = zsh_name(command.path) + "() {\n  local curcontext=$curcontext state line\n";
  if (command.commands.empty()) {
    std::string positionals;
    for (const Word& one : command.positionals) {
      positionals += " \\\n    " + shell_quoted(std::string(one.repeats ? "*" : "") + ":value:" + zsh_action(one));
    }
    if (positionals.empty() && command.options.empty()) return out + "}\n";
    return out + "  _arguments" + zsh_options(command) + positionals + "\n}\n";
  }
  std::string commands, cases;
  for (std::size_t i = 0; i < command.commands.size(); ++i) {
    const std::string& name = command.commands[i];
    commands += "\n    " + shell_quoted(name + ":" + zsh_text(command.command_descriptions[i]));
    cases += "      (" + name + ") " + zsh_name(command.path.empty() ? name : command.path + " " + name) + ";;\n";
  }
  return out + "  local -a commands=(" + commands + ")\n  _arguments -C" + zsh_options(command) +
         " \\\n    '1:command:->command' '*::argument:->argument'\n"
         "  case $state in\n    (command) _describe command commands;;\n    (argument) case $words[1] in\n" +
         cases + "      esac;;\n  esac\n}\n";
}

}  // namespace

std::string zsh_script(const CLI::App& root) {
  std::string functions;
  for (const CommandWords& command : all_command_words(root)) functions += zsh_function(command);
  return kZshFunctions + functions +
         "if [[ $funcstack[1] == _millrace ]]; then _millrace \"$@\"; else compdef _millrace millrace; fi\n";
}

}  // namespace millrace::app::completion
