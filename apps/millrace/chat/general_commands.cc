#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/base64.h"
#include "chat/slash_commands.h"
#include "printable.h"
#include "runtime/cache_directory.h"
#include "screen/look.h"

namespace millrace::app {
namespace {

constexpr std::size_t kMaxCopied = 74'994;  // bytes that terminals take by OSC 52, as xterm and hterm do

SlashResult help(const std::string&, SlashContext&) {
  for (const SlashCommand* command : all_slash_commands()) {
    const std::string usage = command->usage.empty() ? command->name : command->name + " " + command->usage;
    std::fprintf(stderr, "  %-18s %s\n", usage.c_str(), command->summary.c_str());
  }
  std::fprintf(
      stderr,
      "  Ctrl-C stops an answer; at an empty prompt twice, or Ctrl-D, ends the chat\n"
      "  A message of many lines: paste it, or write it between \"\"\" and \"\"\", or end lines with a backslash\n"
      "  TAB completes commands, settings and file names\n");
  return SlashResult::kDone;
}

// By OSC 52, which the terminal itself understands, also over ssh; where it cannot, to a file.
SlashResult copy(const std::string&, SlashContext& context) {
  const std::string text = context.chat.conversation.last_answer();
  if (text.empty()) {
    std::fprintf(stderr, "there is no answer to copy\n");
    return SlashResult::kDone;
  }
  if (screen::look_of(STDERR_FILENO).escapes && text.size() <= kMaxCopied) {
    std::fprintf(stderr, "\x1b]52;c;%s\a", encode_base64(text).c_str());
    std::fprintf(stderr, "copied by the terminal, if it allows that (OSC 52)\n");
    return SlashResult::kDone;
  }
  const std::string path = runtime::cache_directory() + "/copied.txt";
  std::ofstream out(path);
  out << text << "\n";
  out.flush();
  std::fprintf(stderr, out ? "written to %s: this terminal cannot copy it\n" : "cannot write %s\n",
               printable(path).c_str());
  return SlashResult::kDone;
}

SlashResult leave(const std::string&, SlashContext&) { return SlashResult::kQuit; }

}  // namespace

std::span<const SlashCommand> general_commands() {
  static const std::vector<SlashCommand> commands = {
      {"/copy", "", "copy the last answer to the clipboard", {}, copy},
      {"/help", "", "list these commands", {"/?"}, help},
      {"/exit", "", "end the chat, as Ctrl-D, exit, quit and bye do", {"/quit", "/bye"}, leave},
  };
  return commands;
}

}  // namespace millrace::app
