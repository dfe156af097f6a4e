#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/env.h"
#include "chat/edit_text.h"
#include "chat/slash_commands.h"
#include "printable.h"

namespace millrace::app {
namespace {

constexpr std::uint64_t kMaxConversationBytes = std::uint64_t{64} << 20;

SlashResult set_system_message(const std::string& text, SlashContext& context) {
  context.chat.conversation.set_system(text);
  std::fprintf(stderr, text.empty() ? "system message removed\n" : "system message set\n");
  return SlashResult::kDone;
}

SlashResult reset(const std::string&, SlashContext& context) {
  context.chat.conversation.clear();
  context.chat.context_used = 0;
  std::fprintf(stderr, "conversation forgotten\n");
  return SlashResult::kDone;
}

SlashResult undo(const std::string&, SlashContext& context) {
  Conversation& conversation = context.chat.conversation;
  if (conversation.rounds() == 0) {
    std::fprintf(stderr, "there is no message to take back\n");
    return SlashResult::kDone;
  }
  conversation.pop_assistant();
  const std::string text = conversation.last_user();
  conversation.pop_user();
  context.chat.context_used = 0;
  std::fprintf(stderr, "taken back: %s\n", printable(text.substr(0, text.find('\n'))).c_str());
  return SlashResult::kDone;
}

SlashResult retry(const std::string&, SlashContext& context) {
  if (!context.chat.conversation.pop_assistant()) {
    std::fprintf(stderr, "there is no answer to make again\n");
    return SlashResult::kDone;
  }
  context.chat.settings.sampling.seed = context.chat.settings.sampling.seed.value_or(0) + 1;
  return SlashResult::kAnswer;
}

SlashResult edit(const std::string&, SlashContext& context) {
  Conversation& conversation = context.chat.conversation;
  context.terminal.pause();
  const auto text = edit_text(conversation.last_user());
  context.terminal.resume();
  if (!text || text->empty()) {
    std::fprintf(stderr, "%s\n",
                 text ? "nothing written: the message stays as it was" : printable(text.error().message).c_str());
    return SlashResult::kDone;
  }
  conversation.pop_assistant();
  conversation.pop_user();
  conversation.add_user(*text);
  context.terminal.remember(*text);
  return SlashResult::kAnswer;
}

SlashResult save(const std::string& path, SlashContext& context) {
  if (path.empty()) {
    std::fprintf(stderr, "usage: /save FILE\n");
    return SlashResult::kDone;
  }
  std::ofstream out(path);
  out << context.chat.conversation.to_json();
  out.flush();
  std::fprintf(stderr, out ? "saved to %s\n" : "cannot write %s\n", printable(path).c_str());
  return SlashResult::kDone;
}

SlashResult load(const std::string& path, SlashContext& context) {
  if (path.empty()) {
    std::fprintf(stderr, "usage: /load FILE\n");
    return SlashResult::kDone;
  }
  const auto text = read_file(Env::system(), path, kMaxConversationBytes);
  if (!text) {
    std::fprintf(stderr, "%s\n", printable(text.error().message).c_str());
    return SlashResult::kDone;
  }
  if (const auto read = context.chat.conversation.replace_by(*text); !read) {
    std::fprintf(stderr, "%s: %s\n", printable(path).c_str(), printable(read.error().message).c_str());
    return SlashResult::kDone;
  }
  context.chat.context_used = 0;
  std::fprintf(stderr, "loaded %zu messages\n", context.chat.conversation.messages().size());
  return SlashResult::kDone;
}

// Tokens that the first `count` messages make; 0 if the template refuses so few, nothing if that cannot be told.
std::optional<std::int64_t> tokens_of_first(SlashContext& context, std::size_t count) {
  nlohmann::ordered_json first = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < count; ++i) first.push_back(context.chat.conversation.messages()[i]);
  if (first.empty()) return 0;
  const auto tokens = context.chat.responder->count_tokens(first);
  if (!tokens && tokens.error().code == ErrorCode::kUnsupported) return std::nullopt;
  return tokens ? *tokens : 0;
}

// At most so many bytes of the first line, in whole characters.
std::string beginning(const std::string& text, std::size_t bytes) {
  std::size_t end = std::min({bytes, text.size(), text.find('\n')});
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

SlashResult show_context(const std::string&, SlashContext& context) {
  constexpr std::size_t kShown = 40;  // bytes of a message
  const auto& messages = context.chat.conversation.messages();
  const std::int64_t limit = context.chat.responder->context_tokens();
  std::int64_t used = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto tokens = tokens_of_first(context, i + 1);
    const std::string text = messages[i]["content"].get<std::string>();
    std::fprintf(stderr, "%6s  %-9s  %s\n", tokens ? std::to_string(*tokens - used).c_str() : "-",
                 printable(messages[i]["role"].get<std::string>()).c_str(), printable(beginning(text, kShown)).c_str());
    used = tokens.value_or(context.chat.context_used);
  }
  const std::string share = limit > 0
                                ? fmt::format("{} of {} tokens used, {} %", used, limit, 100 * used / limit)
                                : fmt::format("{} tokens used; the server does not tell how many there can be", used);
  std::fprintf(stderr, "%s\n", share.c_str());
  return SlashResult::kDone;
}

Completions files(const std::string&, const std::string&) { return {{}, true}; }

}  // namespace

std::span<const SlashCommand> conversation_commands() {
  static const std::vector<SlashCommand> commands = {
      {"/system", "[TEXT]", "set the system message; without TEXT remove it", {}, set_system_message},
      {"/reset", "", "forget all messages but the system message", {"/clear", "/new"}, reset},
      {"/undo", "", "take the last message and its answer back", {}, undo},
      {"/retry", "", "answer the last message again, with the next seed", {"/regenerate"}, retry},
      {"/edit", "", "change the last message in $EDITOR and answer it again", {}, edit},
      {"/context", "", "show how many tokens each message takes of the context", {}, show_context},
      {"/save", "FILE", "write the messages to a JSON file", {}, save, files},
      {"/load", "FILE", "go on with the messages of a file that /save wrote", {}, load, files},
  };
  return commands;
}

}  // namespace millrace::app
