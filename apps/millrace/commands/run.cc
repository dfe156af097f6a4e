#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "adapter_flags.h"
#include "chat/answer_view.h"
#include "chat/chat_loop.h"
#include "chat/loading_line.h"
#include "chat/local_responder.h"
#include "chat/lone_argument.h"
#include "chat/remote_responder.h"
#include "cli.h"
#include "command.h"
#include "option_heading.h"
#include "printable.h"
#include "runtime/cache_directory.h"
#include "servers/running_servers.h"
#include "speculation_flags.h"

namespace millrace::commands {
namespace {

constexpr int kInterruptedExit = 130;

struct RunFlags {
  app::LocalModelFlags local;
  app::ServerAddress server;                     // its URL "none": no server is looked for
  std::vector<const CLI::Option*> of_own_model;  // flags that say how a model is loaded here
  app::ChatSettings settings;
  std::string prompt;
  std::string system;
};

constexpr std::string_view kNoServer = "none";

bool names_server(const RunFlags& flags) { return !flags.server.url.empty() && flags.server.url != kNoServer; }

// The first flag that was given and says how a model is loaded here; null if there is none.
const CLI::Option* own_model_flag(const RunFlags& flags) {
  const auto given = [](const CLI::Option* option) { return option->count() > 0; };
  const auto found = std::ranges::find_if(flags.of_own_model, given);
  return found == flags.of_own_model.end() ? nullptr : *found;
}

// Loads a model, and shows how far that is where stderr is a terminal.
std::unique_ptr<app::Responder> load_here(const app::LocalModelFlags& flags, const std::string& name) {
  app::LoadingLine status;
  const std::string shown = app::printable(name);
  status.show(fmt::format("loading {}", shown));
  return std::make_unique<app::LocalResponder>(
      flags, [&](double share) { status.show(fmt::format("loading {}: {:.0f} %", shown, 100.0 * share)); });
}

// The model of the server at --url; else that of a running server which has it, unless flags say how to load it; else
// it is loaded here. `reference` is the model's path by now, or its name on that server.
std::unique_ptr<app::Responder> responder_of(const RunFlags& flags, const std::string& reference,
                                             const std::string& name) {
  const app::GrammarFlags& grammar = flags.local.grammar;
  if (names_server(flags)) {
    return std::make_unique<app::RemoteResponder>(flags.server, reference, grammar, app::printable(flags.server.url));
  }
  if (flags.server.url.empty() && own_model_flag(flags) == nullptr) {
    if (const auto found = app::find_loaded_model(reference)) {
      const std::string server = fmt::format("the server with process id {}", found->server.pid);
      if (isatty(STDERR_FILENO) == 1) app::print_dim(fmt::format("[answers come from {}]", server));
      return std::make_unique<app::RemoteResponder>(app::ServerAddress{.socket = found->server.socket}, found->name,
                                                    grammar, server);
    }
  }
  app::LocalModelFlags local = flags.local;
  local.model.model = reference;
  return load_here(local, name);
}

app::Chat make_chat(const RunFlags& flags, const std::string& name) {
  app::Chat chat;
  chat.settings = flags.settings;
  if (!chat.settings.sampling.seed) chat.settings.sampling.seed = Env::system().random_seed();
  chat.responder = responder_of(flags, flags.local.model.model, name);
  chat.responder->sampling(chat.settings.sampling).or_throw();
  chat.conversation.set_system(flags.system);
  return chat;
}

// One question, one answer on stdout.
int answer_once(app::Chat& chat, const std::string& prompt) {
  chat.conversation.add_user(prompt);
  const bool rendered = isatty(STDOUT_FILENO) == 1;  // a signal must not leave the terminal in a style
  std::optional<app::CaughtInterrupts> caught;
  if (rendered) caught.emplace();
  app::AnswerView view(chat.settings.thinking_view(), [] { return app::Terminal::take_interrupt(); });
  const auto answer = app::answer_last(chat, view);
  if (!answer) throw LoadError(answer.error());
  view.finish();
  if (isatty(STDERR_FILENO) == 1 && answer->finish == engine::FinishReason::kLength) {
    app::print_dim(app::filled_context(chat, *answer) ? "[cut: the context is full]" : "[cut by --max-tokens]");
  }
  if (chat.settings.stats) app::print_dim(chat.responder->last_stats());
  return answer->finish == engine::FinishReason::kCancelled ? kInterruptedExit : 0;
}

// A conversation on a terminal.
int interactive(app::Chat& chat, const RunFlags& flags) {
  app::Terminal terminal(runtime::cache_directory() + "/history");
  std::string now = flags.local.model.model;
  const auto load = [&](const std::string& reference) {
    if (names_server(flags)) return responder_of(flags, reference, reference);
    const std::string path = app::model_path(reference, flags.local.model.hub);
    static_cast<void>(app::open_model(path));  // most of what can be wrong with it
    chat.responder.reset();                    // memory need not hold both
    try {
      auto other = responder_of(flags, path, reference);
      now = path;
      return other;
    } catch (const LoadError&) {
      chat.responder = responder_of(flags, now, now);
      throw;
    }
  };
  app::SlashContext context{chat, terminal, load};
  std::fprintf(stderr, "%s\n/help lists the commands\n", app::printable(chat.responder->description()).c_str());
  app::hold_chat(context);
  return 0;
}

constexpr std::size_t kMaxStdin = std::size_t{64} << 20;

// All of stdin without the newlines at its end; empty if it is closed.
std::string text_of_stdin() {
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (;;) {
    const ssize_t size = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > kMaxStdin) {
      throw_load_error(ErrorCode::kInvalidArgument, "prompt", "stdin has more than {} bytes: that is the limit",
                       kMaxStdin);
    }
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Text on stdin is the prompt, or follows on PROMPT after a blank line; and the model's name becomes its path.
void complete(RunFlags& flags, bool interactive) {
  // What is wrong with the reference, rather than that there is nothing to ask it.
  if (!names_server(flags)) app::check_reference(flags.local.model.model);
  if (!interactive && isatty(STDIN_FILENO) != 1) {
    const std::string text = text_of_stdin();
    if (!flags.prompt.empty() && !text.empty()) flags.prompt += "\n\n";
    flags.prompt += text;
  }
  if (flags.prompt.empty() && !interactive)
    throw_load_error(ErrorCode::kInvalidArgument, "prompt", "nothing to answer: no PROMPT and stdin is empty");
  app::ModelFlags& model = flags.local.model;
  if (!names_server(flags)) model.model = app::model_path(model.model, model.hub);
}

void check_before_loading(const RunFlags& flags) {
  if (const auto* flag = own_model_flag(flags); flag != nullptr && names_server(flags)) {
    throw_load_error(ErrorCode::kInvalidArgument, flag->get_name(),
                     "{}: the model runs on the server of --url, as that was told", flag->get_name());
  }
  const auto sampling = flags.settings.sampling.resolve({}, 0, nullptr);
  sampling.validate().or_throw();
  if (sampling.max_tokens < 1) {
    throw_load_error(ErrorCode::kInvalidArgument, "max_tokens", "max_tokens is {}: expected at least 1",
                     sampling.max_tokens);
  }
}

int run(RunFlags flags, bool model_given) {
  check_before_loading(flags);
  std::string& model = flags.local.model.model;
  const bool lone = model_given && flags.prompt.empty();
  const bool lone_prompt = lone && app::is_prompt(model);
  if (lone_prompt) flags.prompt = std::exchange(model, "default");
  if (names_server(flags) && (!model_given || lone_prompt)) model.clear();  // the server's first one
  const bool chats = flags.prompt.empty() && isatty(STDIN_FILENO) == 1;
  const std::string name = model;
  if (flags.settings.thinking.empty()) flags.settings.thinking = isatty(STDOUT_FILENO) == 1 ? "show" : "hide";
  try {
    complete(flags, chats);
  } catch (const LoadError& failure) {
    if (!lone || names_server(flags)) throw;
    throw LoadError(app::with_other_reading(failure.error(), model));
  }
  app::Chat chat = make_chat(flags, name);
  return chats ? interactive(chat, flags) : answer_once(chat, flags.prompt);
}

void declare_server(CLI::App& app, app::ServerAddress& server) {
  const app::OptionHeading heading(app, "Server");
  app.add_option("--url", server.url,
                 "URL of a server with OpenAI's API that has the model; default a running server of yours that has "
                 "loaded it, if any; none = load the model here");
  app::declare_server_access(app, server);
}

// Flags of a model that is loaded here; those of the hub only say how to find it.
void declare_own_model(CLI::App& app, RunFlags& flags) {
  const std::vector<CLI::Option*> before = app.get_options();
  app::declare_speculation(app, flags.local.speculation);
  app::declare_adapters(app, flags.local.adapters);
  flags.local.model.declare(app);
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (std::ranges::find(before, option) != before.end() || name == "--offline" || name == "--no-progress") continue;
    flags.of_own_model.push_back(option);
  }
}

void declare_chat(CLI::App& app, app::ChatSettings& settings) {
  app.add_option("--thinking", settings.thinking,
                 "Display of reasoning before a completion: show (in grey), fold (one line with its length) or hide; "
                 "default show on a terminal, hide elsewhere")
      ->check(CLI::IsMember(app::thinking_views()));
  app.add_option("--on-context-full", settings.on_context_full,
                 "When a chat has filled the context: ask, shift (forget the oldest rounds) or stop; default ask on a "
                 "terminal, else stop")
      ->check(CLI::IsMember(app::context_full_choices()));
  app.add_flag("--stats", settings.stats,
               "Print times, tokens per second and model bandwidth utilization (MBU) to stderr after each completion");
}

}  // namespace

app::Command run() {
  return {
      .name = "run",
      .summary = "Chat with a model in the terminal, or complete one prompt",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto flags = std::make_shared<RunFlags>();
        const CLI::Option* model =
            app.add_option("model", flags->local.model.model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'; "
                           "several words that name no file are a prompt for 'default'");
        app.add_option("prompt,-p,--prompt", flags->prompt,
                       "Prompt to complete before exiting; text on stdin, where that is no terminal, is appended to "
                       "it. Without either an interactive chat");
        app.add_option("--system", flags->system, "System message that the conversation starts with");
        declare_chat(app, flags->settings);
        flags->settings.sampling.declare(app);
        flags->local.grammar.declare(app);
        declare_server(app, flags->server);
        declare_own_model(app, *flags);
        return [flags, model] { return run(*flags, model->count() > 0); };
      },
      .example = "millrace run default \"What is the capital of France?\""};
}

}  // namespace millrace::commands
