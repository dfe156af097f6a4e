#include "completion/command_words.h"

#include "cli.h"
#include "option_facts.h"

namespace millrace::app::completion {
namespace {

// A group of options is, to the parser, a subcommand without a name, which has a --help of its own.
bool is_option_group(const CLI::App* app) { return app->get_name().empty(); }

Free other_values(const CLI::Option& option) {
  const std::string type = value_type(option);
  const bool model = option.get_positional() && option.get_single_name().starts_with("model");
  if (model || type == "MODEL") return Free::kModel;
  return type == "DIR" || type == "FILE" ? Free::kFile : Free::kNone;
}

Word describe(const CLI::Option& option) {
  Word word;
  for (const std::string& name : option.get_snames()) word.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) word.names.push_back("--" + name);
  word.description = option.get_description();
  word.takes_value = option.get_items_expected_max() > 0;
  word.repeats = option.get_items_expected_max() > 1;
  word.values = listed_values(option);
  word.other = other_values(option);
  return word;
}

CommandWords describe(const CLI::App& app, const std::string& path) {
  CommandWords command{.path = path, .description = app.get_description()};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      command.positionals.push_back(describe(*option));
      command.positionals.back().names.clear();
      if (option->nonpositional()) command.options.push_back(describe(*option));  // "prompt,-p,--prompt"
    } else if (!option->get_group().empty()) {
      command.options.push_back(describe(*option));
    }
  }
  for (const CLI::App* group : app.get_subcommands(is_option_group)) {
    for (const CLI::Option* option : group->get_options()) {
      const bool help = option == group->get_help_ptr() || option == group->get_help_all_ptr();
      if (!help) command.options.push_back(describe(*option));
    }
  }
  return command;
}

void walk(const CLI::App& app, const std::string& path, std::vector<CommandWords>& all) {
  const std::size_t at = all.size();
  all.push_back(describe(app, path));
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App* one) { return !is_option_group(one); })) {
    if (sub->get_group().empty()) continue;
    all[at].commands.push_back(sub->get_name());
    all[at].command_descriptions.push_back(sub->get_description());
    walk(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), all);
  }
}

}  // namespace

std::vector<CommandWords> all_command_words(const CLI::App& root) {
  std::vector<CommandWords> all;
  walk(root, "", all);
  return all;
}

std::string join(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

}  // namespace millrace::app::completion
