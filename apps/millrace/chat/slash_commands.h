#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chat/chat.h"
#include "chat/terminal.h"

namespace millrace::app {

// What the caller does after a command: read the next line, answer the conversation, or end.
enum class SlashResult { kDone, kAnswer, kQuit };

// State that slash commands read and change.
struct SlashContext {
  Chat& chat;
  Terminal& terminal;
  // Loads another model. Throws LoadError; the chat then has the one it had, or none where that cannot be loaded again.
  std::function<std::unique_ptr<Responder>(const std::string& reference)> load_model;
};

// A command of a chat. Commands print to stderr, since stdout is for answers.
struct SlashCommand {
  std::string name;                  // "/set"
  std::string usage;                 // of its argument: "[NAME VALUE]"
  std::string summary;               // must be understandable alone
  std::vector<std::string> aliases;  // further names
  SlashResult (*run)(const std::string& argument, SlashContext& context) = nullptr;
  // What TAB offers for the argument; null: nothing.
  Completions (*complete)(const std::string& before, const std::string& word) = nullptr;
};

// The commands, each in the file of its group.
std::span<const SlashCommand> conversation_commands();
std::span<const SlashCommand> model_commands();
std::span<const SlashCommand> general_commands();
std::vector<const SlashCommand*> all_slash_commands();

// Runs the command of a line such as "/save chat.json". An unknown one prints what it may have been meant to be.
SlashResult run_slash_command(const std::string& line, SlashContext& context);
// What TAB offers on a line of a chat.
Completions complete_slash_command(const std::string& before, const std::string& word);

}  // namespace millrace::app
