#include "chat/slash_commands.h"

#include <array>
#include <cstdio>
#include <fstream>

namespace millrace::app {
namespace {

SlashResult help(const std::string&, SlashContext&);

SlashResult system(const std::string& text, SlashContext& context) {
  context.chat.conversation().set_system(text);
  std::fprintf(stderr, text.empty() ? "system message removed\n" : "system message set\n");
  return SlashResult::kDone;
}

SlashResult reset(const std::string&, SlashContext& context) {
  context.chat.conversation().clear();
  std::fprintf(stderr, "conversation forgotten\n");
  return SlashResult::kDone;
}

SlashResult stats(const std::string&, SlashContext& context) {
  const decode::SamplingParams& s = context.chat.sampling();
  std::fprintf(
      stderr,
      "%s\nmessages %zu; temperature %g, top-k %lld, top-p %g, min-p %g, repetition penalty %g, seed %llu\n%s\n",
      context.model_description.c_str(), context.chat.conversation().messages().size(), s.temperature,
      static_cast<long long>(s.top_k), s.top_p, s.min_p, s.repetition_penalty, static_cast<unsigned long long>(s.seed),
      context.last_stats.empty() ? "no answer yet" : context.last_stats.c_str());
  return SlashResult::kDone;
}

SlashResult regenerate(const std::string&, SlashContext& context) {
  if (!context.chat.conversation().pop_assistant()) {
    std::fprintf(stderr, "there is no answer to regenerate\n");
    return SlashResult::kDone;
  }
  ++context.chat.sampling().seed;
  return SlashResult::kRegenerate;
}

SlashResult save(const std::string& path, SlashContext& context) {
  if (path.empty()) {
    std::fprintf(stderr, "usage: /save FILE\n");
    return SlashResult::kDone;
  }
  std::ofstream out(path);
  out << context.chat.conversation().messages().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
      << "\n";
  out.flush();
  std::fprintf(stderr, out ? "saved to %s\n" : "cannot write %s\n", path.c_str());
  return SlashResult::kDone;
}

SlashResult quit(const std::string&, SlashContext&) { return SlashResult::kQuit; }

struct SlashCommand {
  const char* name;
  const char* summary;
  SlashResult (*run)(const std::string& argument, SlashContext& context);
};
constexpr std::array<SlashCommand, 7> kCommands = {
    {{"/help", "list these commands", help},
     {"/system", "[TEXT] set or remove the system message", system},
     {"/reset", "start a new conversation", reset},
     {"/stats", "show the model, sampling parameters and times of the last completion", stats},
     {"/regenerate", "sample another completion of the last message", regenerate},
     {"/save", "FILE: write the messages as JSON", save},
     {"/quit", "exit, as Ctrl-D does", quit}}};

SlashResult help(const std::string&, SlashContext&) {
  for (const SlashCommand& command : kCommands) std::fprintf(stderr, "  %-12s %s\n", command.name, command.summary);
  std::fprintf(stderr, "  Ctrl-C stops an answer; a backslash at the end of a line continues it\n");
  return SlashResult::kDone;
}

}  // namespace

SlashResult run_slash_command(const std::string& line, SlashContext& context) {
  constexpr const char* kBlanks = " \t\n";
  const std::string trimmed =
      line.substr(0, line.find_last_not_of(kBlanks) + 1);  // completing a file name leaves a blank
  const std::size_t blank = trimmed.find_first_of(kBlanks);
  const std::string name = trimmed.substr(0, blank);
  const std::string argument =
      blank == std::string::npos ? "" : trimmed.substr(trimmed.find_first_not_of(kBlanks, blank));
  for (const SlashCommand& command : kCommands) {
    if (name == command.name) return command.run(argument, context);
  }
  std::fprintf(stderr, "unknown command %s\n", name.c_str());
  return help({}, context);
}

}  // namespace millrace::app
