#include <cstdio>

#include "chat/slash_commands.h"
#include "printable.h"

namespace millrace::app {
namespace {

void print_block(const std::string& text, const char* if_empty) {
  std::fprintf(stderr, "%s\n", text.empty() ? if_empty : printable_lines(text).c_str());
}

std::string settings_now(SlashContext& context) {
  const auto now = context.chat.responder->sampling(context.chat.settings.sampling);
  return now ? list_settings(context.chat.settings, *now) : now.error().message + "\n";
}

SlashResult set(const std::string& argument, SlashContext& context) {
  const std::size_t blank = argument.find_first_of(" \t");
  if (argument.empty()) {
    std::fprintf(stderr, "%s", settings_now(context).c_str());
    return SlashResult::kDone;
  }
  std::string name = argument.substr(0, blank);
  if (name == "parameter" && blank != std::string::npos) {  // as in ollama
    return set(argument.substr(argument.find_first_not_of(" \t", blank)), context);
  }
  const std::string value = blank == std::string::npos ? "" : argument.substr(argument.find_first_not_of(" \t", blank));
  ChatSettings changed = context.chat.settings;
  auto done = change_setting(changed, name, value);
  if (done) {
    if (const auto now = context.chat.responder->sampling(changed.sampling); !now) done = now.error();
  }
  if (done) context.chat.settings = std::move(changed);
  std::fprintf(stderr, "%s\n", printable(done ? name + " is " + value : done.error().message).c_str());
  return SlashResult::kDone;
}

SlashResult show(const std::string& what, SlashContext& context) {
  const Chat& chat = context.chat;
  if (what.empty() || what == "model") {
    print_block(chat.responder->description(), "");
  } else if (what == "parameters") {
    std::fprintf(stderr, "%s", settings_now(context).c_str());
  } else if (what == "system") {
    print_block(chat.conversation.system(), "there is no system message");
  } else if (what == "template") {
    print_block(chat.responder->chat_template(), "this model has no chat template");
  } else if (what == "thinking") {
    print_block(chat.conversation.last_reasoning(), "the last answer has no reasoning");
  } else {
    std::fprintf(stderr, "usage: /show [model|parameters|system|template|thinking]\n");
  }
  return SlashResult::kDone;
}

SlashResult stats(const std::string&, SlashContext& context) {
  print_block(context.chat.responder->description(), "");
  std::fprintf(stderr, "messages %zu\n%s", context.chat.conversation.messages().size(), settings_now(context).c_str());
  print_block(context.chat.responder->last_stats(), "no answer yet");
  return SlashResult::kDone;
}

SlashResult change_model(const std::string& reference, SlashContext& context) {
  if (reference.empty()) {
    print_block(context.chat.responder->description(), "");
    return SlashResult::kDone;
  }
  try {
    context.chat.responder = context.load_model(reference);
    context.chat.context_used = 0;
    print_block(context.chat.responder->description(), "");
  } catch (const LoadError& failure) {
    if (context.chat.responder == nullptr) throw;
    std::fprintf(stderr, "%s; the model stays %s\n", printable(failure.error().message).c_str(),
                 printable(context.chat.responder->model_name()).c_str());
  }
  return SlashResult::kDone;
}

Completions settings_words(const std::string& before, const std::string&) {
  const std::size_t end = before.find_last_not_of(' ');
  const std::string last = before.substr(0, end + 1);
  if (last.ends_with(" thinking")) return {thinking_views(), false};
  if (last.ends_with(" on_context_full")) return {context_full_choices(), false};
  if (last.ends_with(" stats")) return {{"on", "off"}, false};
  return {last == "/set" ? setting_names() : std::vector<std::string>{}, false};
}

Completions shown_words(const std::string&, const std::string&) {
  return {{"model", "parameters", "system", "template", "thinking"}, false};
}

Completions models(const std::string&, const std::string&) { return {{"default"}, true}; }

}  // namespace

std::span<const SlashCommand> model_commands() {
  static const std::vector<SlashCommand> commands = {
      {"/set", "[NAME VALUE]", "change a setting, e.g. /set temperature 0.5; alone list them", {}, set, settings_words},
      {"/show", "[WHAT]", "show the model, or: parameters, system, template, thinking", {}, show, shown_words},
      {"/stats", "", "show the model, the settings and the times of the last answer", {}, stats},
      {"/model", "[NAME]", "go on with another model, which keeps the conversation", {}, change_model, models},
  };
  return commands;
}

}  // namespace millrace::app
