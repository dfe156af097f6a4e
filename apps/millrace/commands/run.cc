#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <utility>

#include "backend/cpu/probe.h"
#include "base/cpu.h"
#include "chat/chat_session.h"
#include "chat/grammar_flags.h"
#include "chat/lone_argument.h"
#include "chat/sampling_flags.h"
#include "chat/slash_commands.h"
#include "chat/terminal.h"
#include "cli.h"
#include "command.h"
#include "model_flags.h"
#include "printable.h"
#include "runtime/cache_directory.h"
#include "runtime/serving_engine.h"
#include "runtime/step_meter.h"
#include "speculation_flags.h"

namespace millrace::commands {
namespace {

constexpr double kBandwidthSeconds = 0.2;

struct RunFlags {
  app::ModelFlags model;
  app::SamplingFlags sampling;
  runtime::SpeculationConfig speculation;
  app::GrammarFlags grammar;
  std::string prompt;
  std::string system;
  bool stats = false;
};

void print_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// A model must not steer the terminal.
void show_text(const std::string& text) { print_text(app::printable_lines(text)); }

// Everything that a chat needs, built once.
class Runner {
 public:
  explicit Runner(const RunFlags& flags)
      : start_(Env::system().now()),
        loaded_(app::load_model(flags.model)),
        engine_(make_engine(flags)),
        conversation_(*loaded_.checkpoint),
        chat_(conversation_, *engine_,
              flags.sampling.resolve(loaded_.checkpoint->generation, Env::system().random_seed(),
                                     loaded_.checkpoint->tokenizer.get())),
        show_stats_(flags.stats) {
    conversation_.set_system(flags.system);
    chat_.sampling().validate().or_throw();
    chat_.set_grammar(flags.grammar.compile(loaded_.checkpoint->tokenizer));
  }

  // One question, one answer on stdout.
  int once(const std::string& prompt) {
    conversation_.add_user(prompt);
    const auto answer = chat_.answer(isatty(STDOUT_FILENO) == 1 ? show_text : print_text, [] { return false; });
    if (!answer) throw LoadError(answer.error());
    print_text("\n");
    if (show_stats_) std::fprintf(stderr, "%s\n", describe(*answer).c_str());
    return 0;
  }

  int interactive() {
    app::Terminal terminal(runtime::cache_directory() + "/history");
    app::SlashContext context{chat_, app::printable(description()), ""};
    std::fprintf(stderr, "%s\n/help lists the commands\n", context.model_description.c_str());
    while (const auto line = terminal.read_line("> ")) {
      app::Terminal::take_interrupt();
      if (line->find_first_not_of(" \t\n") == std::string::npos) continue;
      if (line->front() == '/') {
        const app::SlashResult result = app::run_slash_command(*line, context);
        if (result == app::SlashResult::kQuit) break;
        if (result == app::SlashResult::kDone) continue;
      } else {
        conversation_.add_user(*line);
      }
      const auto answer = chat_.answer(show_text, app::Terminal::take_interrupt);
      if (!answer) {
        std::fprintf(stderr, "%s\n", app::printable(answer.error().message).c_str());
        conversation_.pop_user();
        continue;
      }
      context.last_stats = describe(*answer);
      print_text("\n");
      std::fprintf(stderr, "[%s%s]\n", answer->finish == engine::FinishReason::kCancelled ? "stopped; " : "",
                   context.last_stats.c_str());
    }
    std::fprintf(stderr, "\n");
    return 0;
  }

 private:
  // A cache of one sequence, whose pages take memory as the chat grows.
  std::unique_ptr<engine::Engine> make_engine(const RunFlags& flags) {
    runtime::EngineConfig config;
    config.speculation = app::resolved_speculation(flags.speculation, flags.model.hub);
    auto engine = runtime::make_engine(loaded_, config, {.memory = runtime::PageMemory::kAtFirstWrite}).engine;
    engine->reporter().measure(runtime::step_meter(loaded_, *engine));
    return engine;
  }
  std::string description() const {
    return fmt::format("{}: {}, {} of weights, loaded in {:.0f} ms; {}", loaded_.checkpoint->path,
                       loaded_.transformer->description(),
                       fmt::format("{:.1f} MB", static_cast<double>(loaded_.transformer->weight_bytes()) / 1e6),
                       milliseconds_between(start_, Env::system().now()), loaded_.backend->description());
  }
  // The machine's limit is measured once, after the first answer.
  std::string describe(const app::Answer& answer) {
    if (peaks_.read_gb_s == 0.0 && answer.stats.output_tokens > 1) {
      peaks_.read_gb_s =
          backend::cpu::measure_read_bandwidth(loaded_.backend->threads(), detect_isa(), kBandwidthSeconds);
    }
    return app::describe(answer, peaks_);
  }

  TimePoint start_;
  app::LoadedModel loaded_;
  std::unique_ptr<engine::Engine> engine_;
  app::Conversation conversation_;
  app::ChatSession chat_;
  bool show_stats_;
  engine::MachinePeaks peaks_;
};

std::string prompt_from_stdin() {
  std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// A prompt from stdin where there is none yet and no terminal to chat with; and the model's name becomes its path.
void complete(RunFlags& flags, bool interactive) {
  if (flags.prompt.empty() && !interactive) flags.prompt = prompt_from_stdin();
  if (flags.prompt.empty() && !interactive)
    throw_load_error(ErrorCode::kInvalidArgument, "prompt", "nothing to answer: no PROMPT and stdin is empty");
  flags.model.model = app::model_path(flags.model.model, flags.model.hub);
}

int run(RunFlags flags, bool model_given) {
  const auto sampling = flags.sampling.resolve({}, 0, nullptr);
  sampling.validate().or_throw();  // before the model is loaded
  if (sampling.max_tokens < 1) {
    throw_load_error(ErrorCode::kInvalidArgument, "max_tokens", "max_tokens is {}: expected at least 1",
                     sampling.max_tokens);
  }
  const bool lone = model_given && flags.prompt.empty();
  if (lone && app::is_prompt(flags.model.model)) flags.prompt = std::exchange(flags.model.model, "default");
  const bool interactive = flags.prompt.empty() && isatty(STDIN_FILENO) == 1;
  try {
    complete(flags, interactive);
  } catch (const LoadError& failure) {
    if (!lone) throw;
    throw LoadError(app::with_other_reading(failure.error(), flags.model.model));
  }
  Runner runner(flags);
  return interactive ? runner.interactive() : runner.once(flags.prompt);
}

}  // namespace

app::Command run() {
  return {
      .name = "run",
      .summary = "Chat with a model in the terminal, or complete one prompt",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto flags = std::make_shared<RunFlags>();
        const CLI::Option* model =
            app.add_option("model", flags->model.model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'; "
                           "several words that name no file are a prompt for 'default'");
        app.add_option(
            "prompt,-p,--prompt", flags->prompt,
            "Prompt to complete before exiting; if absent, an interactive chat, or stdin where that is no terminal");
        app.add_option("--system", flags->system, "System message that the conversation starts with");
        app.add_flag(
            "--stats", flags->stats,
            "Print times, tokens per second and model bandwidth utilization (MBU) to stderr after each completion");
        flags->sampling.declare(app);
        flags->grammar.declare(app);
        app::declare_speculation(app, flags->speculation);
        flags->model.declare(app);
        return [flags, model] { return run(*flags, model->count() > 0); };
      }};
}

}  // namespace millrace::commands
