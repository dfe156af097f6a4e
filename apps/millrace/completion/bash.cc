#include "completion/command_words.h"
#include "completion/script.h"

namespace millrace::app::completion {
namespace {

// The words of the line up to the cursor, split at spaces alone: bash also splits at ':' and '=', which names of models
// have. What it has split off is taken from the front of the answers again.
constexpr const char* kBashFunctions = R"sh(# bash completion for millrace: source <(millrace completion bash)
_millrace_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }
_millrace_files() { local IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur")); }
_millrace_models() {
  local IFS=$'\n' name
  for name in $("$program" list --names 2>/dev/null); do [[ $name == "$cur"* ]] && COMPREPLY+=("$name"); done
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen -d -- "$cur") $(compgen -f -X '!*.gguf' -- "$cur"))
}
_millrace() {
  local IFS=$' \t\n' program=${COMP_WORDS[0]} cur='' prev='' path='' place=0 before='' split i next words=() takes=''
  COMPREPLY=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    next=${COMP_WORDS[i]}
    if ((i > 1)) && [[ ${#words[@]} -gt 1 && ( $next == [:=]* || ${words[-1]} == *[:=] ) && -n $next ]] \
      && [[ ${COMP_LINE:-} == *"${words[-1]}$next"* ]]; then
      words[-1]+=$next
    else
      words+=("$next")
    fi
  done
  cur=${words[-1]}
  prev=${words[-2]}
  [[ $cur == --*=* ]] && prev=${cur%%=*} cur=${cur#*=}
)sh";

// What is offered for a value.
std::string bash_answers(const Word& word) {
  std::string text;
  if (!word.values.empty()) text += "_millrace_words " + shell_quoted(join(word.values)) + "; ";
  if (word.other == Free::kModel) text += "_millrace_models; ";
  if (word.other == Free::kFile) text += "_millrace_files; ";
  return text;
}

std::vector<std::string> bash_names(const CommandWords& command) {
  std::vector<std::string> names = command.commands;
  for (const Word& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

}  // namespace

std::string bash_script(const CLI::App& root) {
  std::string paths, takes, values, words, positionals;
  for (const CommandWords& command : all_command_words(root)) {
    if (!command.path.empty()) paths += (paths.empty() ? "" : "|") + shell_quoted(command.path);
    for (const Word& option : command.options) {
      if (!option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(shell_quoted(command.path + " " + name));
      takes += (takes.empty() ? "" : "|") + join(patterns, "|");
      values += "    " + join(patterns, "|") + ") " + bash_answers(option) + "_millrace_done; return;;\n";
    }
    words += "    " + shell_quoted(command.path) + ") words=" + shell_quoted(join(bash_names(command))) + ";;\n";
    for (std::size_t i = 0; i < command.positionals.size(); ++i) {
      const Word& one = command.positionals[i];
      const std::string place = one.repeats ? " *" : " " + std::to_string(i);
      positionals += "    " + shell_quoted(command.path) + "'" + place + "') " + bash_answers(one) + ";;\n";
    }
  }
  return kBashFunctions +
         std::string(
             "  for ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
             "    next=${words[i]}\n"
             "    if [[ -n $takes ]]; then takes=''; continue; fi\n"
             "    case \"$path $next\" in ") +
         takes + ") takes=1; continue;; esac\n    case \"${path:+$path }$next\" in " + paths +
         ") path=${path:+$path }$next; place=0; continue;; esac\n"
         "    [[ $next == -* ]] || ((place++))\n"
         "  done\n"
         "  case \"$path $prev\" in\n" +
         values + "  esac\n  words=''\n  case $path in\n" + words +
         "  esac\n"
         "  if [[ $cur == -* || -z $path ]]; then\n"
         "    _millrace_words \"$words\"\n"
         "  else\n"
         "    for next in $words; do [[ $next == -* || $next != \"$cur\"* ]] || COMPREPLY+=(\"$next\"); done\n"
         "    case \"$path $place\" in\n" +
         positionals +
         "    esac\n"
         "  fi\n"
         "  _millrace_done\n"
         "}\n"
         "_millrace_done() {\n"
         "  split=${cur%\"${COMP_WORDS[COMP_CWORD]}\"}\n"
         "  [[ ${COMP_WORDS[COMP_CWORD]} == [:=] ]] && split=$cur\n"
         "  for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do COMPREPLY[i]=${COMPREPLY[i]#\"$split\"}; done\n"
         "}\n"
         "complete -F _millrace millrace\n";
}

}  // namespace millrace::app::completion
