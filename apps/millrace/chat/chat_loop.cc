#include "chat/chat_loop.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "chat/answer_view.h"
#include "printable.h"

namespace millrace::app {
namespace {

constexpr std::string_view kBlockQuotes = "\"\"\"";

// The prompt with a meter of the context used.
std::string prompt_line(const Chat& chat) {
  const std::int64_t limit = chat.responder->context_tokens();
  if (chat.context_used == 0 || limit == 0) return "> ";
  const auto percent = 100 * chat.context_used / limit;
  const std::string meter = fmt::format("[{}%]", percent);
  return screen::look_of(2).styles ? fmt::format("\1\x1b[2m\1{}\1\x1b[0m\1 > ", meter) : meter + " > ";
}

// Lines of a block up to `"""`, or until one ends without a backslash. `text` has the first line.
TypedLine rest_of_message(Terminal& terminal, std::string text) {
  const bool block = text.starts_with(kBlockQuotes);
  if (block) text.erase(0, kBlockQuotes.size());
  const auto ended = [&] { return block ? text.ends_with(kBlockQuotes) : !text.ends_with('\\'); };
  while (!ended()) {
    if (!block) text.pop_back();
    TypedLine more = terminal.read_line("... ");
    if (more.kind == TypedLine::Kind::kEnd && block) break;
    if (more.kind != TypedLine::Kind::kLine) return more;
    text += (block && text.empty() ? "" : "\n") + more.text;
  }
  if (block && text.ends_with(kBlockQuotes)) text.resize(text.size() - kBlockQuotes.size());
  while (block && text.ends_with('\n')) text.pop_back();
  return {TypedLine::Kind::kLine, std::move(text), false};
}

TypedLine read_message(Terminal& terminal, const std::string& prompt) {
  TypedLine first = terminal.read_line(prompt);
  if (first.kind != TypedLine::Kind::kLine) return first;
  TypedLine message = rest_of_message(terminal, std::move(first.text));
  message.empty = false;
  if (message.kind == TypedLine::Kind::kLine) terminal.remember(message.text);
  return message;
}

// Whether the oldest rounds may be dropped.
bool may_drop(Chat& chat, Terminal& terminal, const ContextFit& fit) {
  const OnContextFull policy = chat.settings.context_full(true);
  if (policy == OnContextFull::kShift) return true;
  const std::string full =
      fmt::format("the context is full: the conversation has {} of {} tokens", fit.tokens, fit.limit);
  if (policy == OnContextFull::kStop) {
    std::fprintf(stderr, "%s. /undo, /reset or /set on_context_full shift make room\n", full.c_str());
    return false;
  }
  const TypedLine reply =
      terminal.read_line(fmt::format("{}. Forget the oldest {} of {} rounds? [Y]es, [n]o, [a]lways: ", full,
                                     fit.rounds_to_drop, chat.conversation.rounds()));
  if (reply.kind != TypedLine::Kind::kLine || reply.text.starts_with('n') || reply.text.starts_with('N')) {
    std::fprintf(stderr, "not sent. /undo or /reset make room\n");
    return false;
  }
  if (reply.text.starts_with('a') || reply.text.starts_with('A')) chat.settings.on_context_full = "shift";
  return true;
}

// Makes room for an answer to the last message; false: there is none, which has been said.
bool make_room(Chat& chat, Terminal& terminal) {
  if (chat.responder->context_tokens() == 0) return true;  // the server will say
  constexpr std::size_t kMaxTokenBytes = 64;               // a longer message has more tokens than the context for sure
  const std::size_t bytes = chat.conversation.last_user().size();
  if (bytes > static_cast<std::size_t>(chat.responder->context_tokens()) * kMaxTokenBytes) {
    std::fprintf(stderr, "this message alone is too long: %zu bytes for a context of %lld tokens\n", bytes,
                 static_cast<long long>(chat.responder->context_tokens()));
    return false;
  }
  const auto fit = context_fit(chat);
  if (!fit && fit.error().code == ErrorCode::kUnsupported) return true;
  if (!fit) {
    std::fprintf(stderr, "%s\n", printable(fit.error().message).c_str());
    return false;
  }
  if (!fit->fits_then) {
    std::fprintf(stderr, "this message alone is too long: the prompt has %lld tokens and the context %lld\n",
                 static_cast<long long>(fit->tokens), static_cast<long long>(fit->limit));
    return false;
  }
  if (fit->rounds_to_drop == 0) return true;
  if (!may_drop(chat, terminal, *fit)) return false;
  for (int i = 0; i < fit->rounds_to_drop; ++i) chat.conversation.drop_oldest_round();
  print_dim(fmt::format("[the oldest {} forgotten, to make room in the context]",
                        fit->rounds_to_drop == 1 ? "round is" : fmt::format("{} rounds are", fit->rounds_to_drop)));
  return true;
}

// What a reader must know of how an answer ended; empty: nothing.
std::string mark_of(const Chat& chat, const Answer& answer) {
  if (answer.finish == engine::FinishReason::kCancelled) return "stopped";
  if (filled_context(chat, answer)) {
    return fmt::format("cut: the context of {} tokens is full", chat.responder->context_tokens());
  }
  if (answer.finish == engine::FinishReason::kLength) return "cut by max_tokens; /set max_tokens raises it";
  return "";
}

void answer_message(Chat& chat, Terminal& terminal) {
  if (!make_room(chat, terminal)) {
    chat.conversation.pop_user();
    return;
  }
  AnswerView view(chat.settings.thinking_view(), Terminal::take_interrupt);
  const QuietKeys quiet;
  Terminal::take_interrupt();
  const auto answer = answer_last(chat, view);
  view.finish(answer.ok());
  if (!answer) {
    std::fprintf(stderr, "%s\n", printable(answer.error().message).c_str());
    chat.conversation.pop_user();
    return;
  }
  std::string line = mark_of(chat, *answer);
  if (chat.settings.stats) line += (line.empty() ? "" : "; ") + chat.responder->last_stats();
  if (!line.empty()) print_dim("[" + line + "]");
}

bool is_farewell(std::string_view text) { return text == "exit" || text == "quit" || text == "bye"; }

}  // namespace

void hold_chat(SlashContext& context) {
  context.terminal.complete_with(complete_slash_command);
  for (bool leaving = false;;) {
    const TypedLine line = read_message(context.terminal, prompt_line(context.chat));
    if (line.kind == TypedLine::Kind::kEnd || (line.kind == TypedLine::Kind::kInterrupt && line.empty && leaving))
      break;
    leaving = line.kind == TypedLine::Kind::kInterrupt && line.empty;
    if (leaving) std::fprintf(stderr, "Ctrl-C again, or Ctrl-D, ends the chat\n");
    if (line.text.find_first_not_of(" \t\n") == std::string::npos) continue;
    if (is_farewell(line.text)) break;
    if (line.text.front() == '/') {
      const SlashResult result = run_slash_command(line.text, context);
      if (result == SlashResult::kQuit) break;
      if (result == SlashResult::kDone) continue;
    } else {
      context.chat.conversation.add_user(line.text);
    }
    answer_message(context.chat, context.terminal);
  }
  std::fprintf(stderr, "\n");
}

}  // namespace millrace::app
