#pragma once

#include <string>

#include "chat/chat_session.h"

namespace millrace::app {

// What the caller does after a command: read the next line, answer the conversation again, or end.
enum class SlashResult { kDone, kRegenerate, kQuit };

// State that slash commands read and change.
struct SlashContext {
  ChatSession& chat;
  std::string model_description;  // for /stats
  std::string last_stats;         // describe() of the last answer; empty: there is none
};

// Runs "/help", "/system TEXT", "/reset", "/stats", "/regenerate", "/save FILE" or "/quit". Prints to stderr, since
// stdout is for answers; an unknown command prints the list of commands. "/regenerate" removes the last answer and
// increments the seed.
SlashResult run_slash_command(const std::string& line, SlashContext& context);

}  // namespace millrace::app
