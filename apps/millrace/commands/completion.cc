#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli.h"
#include "command.h"

// Shell completion scripts, generated from the parser itself: they know every subcommand, flag and listed value there
// is.

namespace millrace::commands {
namespace {

// One option as the shells need it.
struct OptionInfo {
  std::vector<std::string> names;  // "-f", "--file"
  std::string description;
  bool takes_value = false;
  std::vector<std::string> values;  // what it can be; empty = a file, or anything
};

// CLI11 shows an IsMember check in the option's type: "TEXT:{bf16,f16,f32}".
std::vector<std::string> listed_values(const std::string& type) {
  std::vector<std::string> values;
  const std::size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return values;
  for (std::size_t at = open + 1; at < close;) {
    const std::size_t comma = std::min(type.find(',', at), close);
    values.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return values;
}

OptionInfo describe(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  info.description = option.get_description();
  info.takes_value = option.get_items_expected_max() > 0;
  info.values = listed_values(option.get_type_name());
  return info;
}

// A group of options is, to the parser, a subcommand without a name, which has a --help of its own.
bool is_option_group(const CLI::App* app) { return app->get_name().empty(); }

std::vector<OptionInfo> options_of(const CLI::App& app) {
  std::vector<OptionInfo> options;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional() && !option->get_group().empty()) options.push_back(describe(*option));
  }
  for (const CLI::App* group : app.get_subcommands(is_option_group)) {
    for (const CLI::Option* option : group->get_options()) {
      if (option != group->get_help_ptr() && option != group->get_help_all_ptr()) options.push_back(describe(*option));
    }
  }
  return options;
}

std::vector<OptionInfo> positionals_of(const CLI::App& app) {
  std::vector<OptionInfo> positionals;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) positionals.push_back(describe(*option));
  }
  return positionals;
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  const auto all =
      app.get_subcommands([](const CLI::App* sub) { return !is_option_group(sub) && !sub->get_group().empty(); });
  return {all.begin(), all.end()};
}

std::string join(const std::vector<std::string>& words, const char* between = " ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// In single quotes for any of the three shells.
std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Calls visit(app, "bench serve") for every command, the root first with "".
template <typename Visit>
void walk(const CLI::App& app, const std::string& path, const Visit& visit) {
  visit(app, path);
  for (const CLI::App* sub : subcommands_of(app)) {
    walk(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), visit);
  }
}

std::vector<std::string> words_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : subcommands_of(app)) words.push_back(sub->get_name());
  for (const OptionInfo& option : options_of(app)) words.insert(words.end(), option.names.begin(), option.names.end());
  for (const OptionInfo& positional : positionals_of(app)) {
    words.insert(words.end(), positional.values.begin(), positional.values.end());
  }
  return words;
}

std::string bash_script(const CLI::App& root) {
  std::string paths, values, words;
  walk(root, "", [&](const CLI::App& app, const std::string& path) {
    if (!path.empty()) paths += (paths.empty() ? "" : "|") + shell_quoted(path);
    for (const OptionInfo& option : options_of(app)) {
      if (!option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(shell_quoted(path + " " + name));
      values += "    " + join(patterns, "|") + ") " +
                (option.values.empty() ? "_millrace_files" : "_millrace_words " + shell_quoted(join(option.values))) +
                "; return;;\n";
    }
    words += "    " + shell_quoted(path) + ") words=" + shell_quoted(join(words_of(app))) + ";;\n";
  });
  return "# bash completion for millrace: source <(millrace completion bash)\n"
         "_millrace_words() { COMPREPLY=($(compgen -W \"$1\" -- \"$cur\")); }\n"
         "_millrace_files() { local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "
         "\"$cur\")); }\n"
         "_millrace() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' words='' i next\n"
         "  local IFS=$' \\t\\n'\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    next=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    case $next in\n    " +
         paths +
         ") path=$next;;\n    esac\n"
         "  done\n"
         "  case \"$path $prev\" in\n" +
         values +
         "  esac\n"
         "  case $path in\n" +
         words +
         "  esac\n"
         "  if [[ $cur == -* || -z $path ]]; then\n"
         "    _millrace_words \"$words\"\n"
         "  else\n"
         "    local listed=()\n"
         "    for next in $words; do [[ $next == -* ]] || listed+=(\"$next\"); done\n"
         "    if ((${#listed[@]})); then _millrace_words \"${listed[*]}\"; else _millrace_files; fi\n"
         "  fi\n"
         "}\n"
         "complete -F _millrace millrace\n";
}

// A description inside an _arguments specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionInfo& option) {
  return option.values.empty() ? "_files" : "(" + join(option.values) + ")";
}

std::string zsh_script(const CLI::App& root) {
  std::string functions;
  walk(root, "", [&](const CLI::App& app, const std::string& path) {
    std::string name = "_millrace";
    for (const char c : path.empty() ? path : " " + path) name += c == ' ' || c == '-' ? '_' : c;
    std::string arguments, commands, cases;
    for (const OptionInfo& option : options_of(app)) {
      for (const std::string& spelling : option.names) {
        const std::string value = option.takes_value ? ":value:" + zsh_action(option) : "";
        arguments += " \\\n    " + shell_quoted(spelling + "[" + zsh_text(option.description) + "]" + value);
      }
    }
    for (const CLI::App* sub : subcommands_of(app)) {
      std::string function = name + "_" + sub->get_name();
      for (char& c : function) c = c == '-' ? '_' : c;
      commands += "\n    " + shell_quoted(sub->get_name() + ":" + zsh_text(sub->get_description()));
      cases += "      " + sub->get_name() + ") " + function + ";;\n";
    }
    functions += name + "() {\n  local curcontext=$curcontext state line\n";
    if (commands.empty()) {
      std::string positional = "*:file:_files";
      for (const OptionInfo& option : positionals_of(app)) {
        if (!option.values.empty()) positional = "*:value:" + zsh_action(option);
      }
      functions += "  _arguments" + arguments + " \\\n    " + shell_quoted(positional) + "\n}\n";
    } else {
      functions += "  local -a commands=(" + commands + ")\n  _arguments -C" + arguments +
                   " \\\n    '1:command:->command' '*::argument:->argument'\n"
                   "  case $state in\n    command) _describe command commands;;\n    argument) case $words[1] in\n" +
                   cases + "      esac;;\n  esac\n}\n";
    }
  });
  return "#compdef millrace\n# zsh completion for millrace: a file _millrace in $fpath, or source <(millrace "
         "completion zsh)\n" +
         functions +
         "if [[ $funcstack[1] == _millrace ]]; then _millrace \"$@\"; else compdef _millrace millrace; fi\n";
}

std::string fish_script(const CLI::App& root) {
  std::string out = "# fish completion for millrace: millrace completion fish | source\n";
  walk(root, "", [&](const CLI::App& app, const std::string& path) {
    std::string condition;  // all commands of the path were typed, and none below
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t space = std::min(path.find(' ', at), path.size());
      condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + path.substr(at, space - at));
      at = space + 1;
    }
    std::vector<std::string> names;
    for (const CLI::App* sub : subcommands_of(app)) names.push_back(sub->get_name());
    if (!names.empty()) {
      condition += (condition.empty() ? "" : "; and ") + ("not __fish_seen_subcommand_from " + join(names));
    }
    const std::string prefix = "complete -c millrace -n " + shell_quoted(condition);
    for (const CLI::App* sub : subcommands_of(app)) {
      out += prefix + " -f -a " + shell_quoted(sub->get_name()) + " -d " + shell_quoted(sub->get_description()) + "\n";
    }
    for (const OptionInfo& option : options_of(app)) {
      out += prefix;
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.takes_value) out += option.values.empty() ? " -r" : " -x -a " + shell_quoted(join(option.values));
      out += " -d " + shell_quoted(option.description) + "\n";
    }
    for (const OptionInfo& positional : positionals_of(app)) {
      if (!positional.values.empty()) out += prefix + " -f -a " + shell_quoted(join(positional.values)) + "\n";
    }
  });
  return out;
}

int completion(const CLI::App& app, const std::string& shell) {
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  const std::string script = shell == "bash"  ? bash_script(*root)
                             : shell == "zsh" ? zsh_script(*root)
                                              : fish_script(*root);
  std::fwrite(script.data(), 1, script.size(), stdout);
  return 0;
}

}  // namespace

app::Command completion() {
  return {.name = "completion",
          .summary = "Print a completion script for a shell",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto shell = std::make_shared<std::string>();
            app.add_option("shell", *shell, "Shell that the script is for: bash, zsh or fish")
                ->required()
                ->check(CLI::IsMember({"bash", "zsh", "fish"}));
            return [shell, &app] { return completion(app, *shell); };
          }};
}

}  // namespace millrace::commands
