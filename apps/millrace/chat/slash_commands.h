#pragma once

#include <string>

#include "chat/chat_session.h"

namespace millrace::app {

enum class SlashResult { kDone, kRegenerate, kQuit };

// What the lines beginning with '/' act on.
struct SlashContext {
  ChatSession& chat;
  std::string model_description;  // for /stats
  std::string last_stats;         // of the last answer
};

// Runs "/help", "/system TEXT", "/reset", "/stats", "/regenerate", "/save FILE" or "/quit"; prints to stderr, as all
// that is not an answer. An unknown one prints the list.
SlashResult run_slash_command(const std::string& line, SlashContext& context);

}  // namespace millrace::app
