#include "chat/slash_commands.h"

#include <algorithm>
#include <cstdio>

#include "did_you_mean.h"
#include "printable.h"

namespace millrace::app {
namespace {

constexpr const char* kWhiteSpace = " \t\n";

const SlashCommand* find_command(const std::string& name) {
  for (const SlashCommand* command : all_slash_commands()) {
    if (command->name == name || std::ranges::find(command->aliases, name) != command->aliases.end()) return command;
  }
  return nullptr;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const SlashCommand* command : all_slash_commands()) {
    names.push_back(command->name);
    names.insert(names.end(), command->aliases.begin(), command->aliases.end());
  }
  return names;
}

}  // namespace

std::vector<const SlashCommand*> all_slash_commands() {
  std::vector<const SlashCommand*> out;
  for (const auto group : {conversation_commands(), model_commands(), general_commands()}) {
    for (const SlashCommand& command : group) out.push_back(&command);
  }
  return out;
}

SlashResult run_slash_command(const std::string& line, SlashContext& context) {
  const std::string trimmed =
      line.substr(0, line.find_last_not_of(kWhiteSpace) + 1);  // completing a file name leaves a blank
  const std::size_t blank = trimmed.find_first_of(kWhiteSpace);
  const std::string name = trimmed.substr(0, blank);
  const std::string argument =
      blank == std::string::npos ? "" : trimmed.substr(trimmed.find_first_not_of(kWhiteSpace, blank));
  if (const SlashCommand* command = find_command(name)) return command->run(argument, context);
  const std::string meant = did_you_mean(name, command_names());
  std::fprintf(stderr, "unknown command %s%s\n", printable(name).c_str(),
               meant.empty() ? "; /help lists them" : meant.c_str());
  return SlashResult::kDone;
}

Completions complete_slash_command(const std::string& before, const std::string& word) {
  Completions found;
  if (before.empty()) {
    for (const std::string& name : command_names()) {
      if (word.starts_with('/') && name.starts_with(word)) found.words.push_back(name);
    }
    return found;
  }
  const SlashCommand* command = find_command(before.substr(0, before.find_first_of(kWhiteSpace)));
  if (command == nullptr || command->complete == nullptr) return found;
  found = command->complete(before, word);
  std::erase_if(found.words, [&](const std::string& one) { return !one.starts_with(word); });
  return found;
}

}  // namespace millrace::app
