#pragma once

#include <string>

#include "chat/chat_session.h"

namespace millrace::app {

enum class SlashResult { kDone, kRegenerate, kQuit };

// The objects that slash commands act on.
struct SlashContext {
  ChatSession& chat;
  std::string model_description;  // for /stats
  std::string last_stats;         // of the last answer
};

// Runs "/help", "/system TEXT", "/reset", "/stats", "/regenerate", "/save FILE" or "/quit". Prints to stderr; an
// unknown command prints the list of commands.
SlashResult run_slash_command(const std::string& line, SlashContext& context);

}  // namespace millrace::app
