#include <algorithm>
#include <cstdio>

#include "bench/model_run.h"
#include "bench/speculation_prompts.h"
#include "bench/table.h"
#include "chat/prompt_writer.h"
#include "cli.h"
#include "command.h"
#include "grammar/grammar_cache.h"
#include "grammar/language.h"
#include "printable.h"

namespace millrace::bench::commands {
namespace {

struct GrammarFlags {
  app::ModelFlags model;
  app::EngineFlags serving;
  std::vector<std::int64_t> users = {1, 16};
  std::string method = "ngram";
  std::int64_t output_tokens = 96;
  int runs = 5;
  ReportFlags report;
};

constexpr double kGrammarProbeSeconds = 0.05;
constexpr std::int64_t kGrammarKvTokens = 8192;
// Records without end: names, numbers and words in fixed braces.
constexpr const char* kRecords = R"({"type": "array", "minItems": 1000, "items": {"type": "object", "properties":
  {"name": {"type": "string", "maxLength": 40}, "age": {"type": "integer", "minimum": 0, "maximum": 120},
   "role": {"enum": ["reader", "writer", "owner"]}, "notes": {"type": "array", "items": {"type": "string"}}},
  "required": ["name", "age", "role", "notes"], "additionalProperties": false}})";
// Lines of any text: what a model says anyway, so that answers with and without are the same.
constexpr const char* kLines = R"(([^\n]{0,2000}\n?)*)";

using Compiled = std::shared_ptr<grammar::CompiledGrammar>;

Compiled compile(grammar::GrammarCache& cache, const char* language, const char* text) {
  return cache
      .get(
          text, 0,
          [&](grammar::WorkMeter& meter) { return grammar::read_grammar({.language = language, .text = text}, meter); })
      .or_throw();
}

// What requests have in common.
struct Load {
  std::vector<std::int32_t> prompt;
  std::int64_t users = 1, output_tokens = 0;
  double temperature = 0.0;
  bool to_the_end = false;  // the model's own ends are tokens like any other
};

struct Timing {
  double tpot_ms = 0.0;
  std::vector<std::int32_t> tokens;  // of the first user
};

Timing run(engine::Engine& engine, const Load& load, const Compiled& grammar) {
  std::vector<engine::RequestId> ids;
  for (std::int64_t user = 0; user < load.users; ++user) {
    engine::Request request{.tokens = load.prompt};
    request.sampling.temperature = load.temperature;
    request.sampling.seed = static_cast<std::uint64_t>(user);
    request.sampling.max_tokens = load.output_tokens;
    request.sampling.ignore_eos = load.to_the_end;
    ids.push_back(engine.submit(std::move(request), grammar).or_throw());
  }
  Timing timing;
  while (!engine.idle()) {
    for (const engine::Output& output : engine.step()) {
      if (output.error) throw LoadError(*output.error);
      if (output.request == ids[0] && output.token) timing.tokens.push_back(*output.token);
      if (output.finish != engine::FinishReason::kNone) {
        timing.tpot_ms += output.stats.tpot_ms() / static_cast<double>(load.users);
      }
    }
  }
  return timing;
}

std::string range_of(const metrics::Spread& spread) { return fmt::format("{:.3f}-{:.3f}", spread.min, spread.max); }

app::ServingEngine engine_of(const ModelRun& model, app::EngineFlags flags, bool jump_forward,
                             const std::string& method) {
  flags.speculation.jump_forward = jump_forward;
  flags.speculation.method = method;
  return model.make_engine(flags, kGrammarKvTokens);
}

// The time of a token under a grammar, of one without; and where what the grammar forces is drafted.
Json slowdown(const ModelRun& model, const GrammarFlags& flags, grammar::GrammarCache& cache, Table& table) {
  const Compiled records = compile(cache, "json_schema", kRecords);
  const auto prompt = app::PromptWriter(model.checkpoint())
                          .of_question("Write a list of people as JSON, with their names, ages, roles and notes.");
  const auto plain = engine_of(model, flags.serving, false, "none");
  const auto jumping = engine_of(model, flags.serving, true, "none");
  Json results = Json::array();
  for (const std::int64_t users : flags.users) {
    for (const double temperature : {0.0, 1.0}) {
      const Load load{.prompt = prompt,
                      .users = users,
                      .output_tokens = flags.output_tokens,
                      .temperature = temperature,
                      .to_the_end = true};
      std::vector<double> without, with, jumped;
      for (int i = -1; i < flags.runs; ++i) {
        const double a = run(*plain.engine, load, nullptr).tpot_ms, b = run(*plain.engine, load, records).tpot_ms;
        const double c = run(*jumping.engine, load, records).tpot_ms;
        if (i < 0) continue;
        without.push_back(a);
        with.push_back(b / a);
        jumped.push_back(c / a);
      }
      const auto base = metrics::spread_of(without), ratio = metrics::spread_of(with);
      const auto jump_ratio = metrics::spread_of(jumped);
      results.push_back({{"users", load.users},
                         {"temperature", temperature},
                         {"tpot_ms", json_of(base)},
                         {"under_grammar", json_of(ratio)},
                         {"jumping_forward", json_of(jump_ratio)}});
      table.add({fmt::format("{}", users), fmt::format("{}", temperature), rounded(base.median),
                 fmt::format("{:.3f}", ratio.median), range_of(ratio), fmt::format("{:.3f}", jump_ratio.median),
                 range_of(jump_ratio)});
    }
  }
  return results;
}

// What speculation brings with a grammar and without, on prompts whose answers are the same with both.
Json speculation(const ModelRun& model, const GrammarFlags& flags, grammar::GrammarCache& cache, Table& table) {
  const Compiled lines = compile(cache, "regex", kLines);
  app::EngineFlags serving = flags.serving;
  // Each prompt is asked several times: memory would know the answer.
  serving.speculation.options.values.set("suffix_tokens", 0.0);
  const auto plain = engine_of(model, serving, false, "none");
  const auto drafting = engine_of(model, serving, false, flags.method);
  Json results = Json::array();
  for (const SpeculationPrompt& prompt : speculation_prompts()) {
    const auto tokens = app::PromptWriter(model.checkpoint()).of_question(std::string(prompt.text));
    const Load load{.prompt = tokens, .output_tokens = flags.output_tokens};
    std::vector<double> free, bound, kept;
    bool same = true;
    for (int i = -1; i < flags.runs; ++i) {
      const Timing a = run(*plain.engine, load, nullptr), b = run(*drafting.engine, load, nullptr);
      const Timing c = run(*plain.engine, load, lines), d = run(*drafting.engine, load, lines);
      same = same && a.tokens == b.tokens && a.tokens == c.tokens && a.tokens == d.tokens;
      if (i < 0) continue;
      free.push_back(a.tpot_ms / b.tpot_ms);
      bound.push_back(c.tpot_ms / d.tpot_ms);
      kept.push_back(bound.back() / free.back());
    }
    const auto free_gain = metrics::spread_of(free), bound_gain = metrics::spread_of(bound);
    const auto share = metrics::spread_of(kept);
    results.push_back({{"prompt", prompt.name},
                       {"speed_up", json_of(free_gain)},
                       {"speed_up_under_grammar", json_of(bound_gain)},
                       {"kept", json_of(share)},
                       {"same_answer", same}});
    table.add({std::string(prompt.name), fmt::format("{:.2f}", free_gain.median),
               fmt::format("{:.2f}", bound_gain.median), fmt::format("{:.3f}", share.median), range_of(share),
               same ? "same" : "DIFFERENT"});
  }
  return results;
}

int grammar_run(const GrammarFlags& flags) {
  flags.report.check_writable();
  ModelRun model(flags.model, kGrammarProbeSeconds);
  grammar::GrammarCache cache(model.checkpoint().tokenizer);
  Table slow(
      {{"users"}, {"temperature"}, {"TPOT ms"}, {"with grammar"}, {"range", true}, {"and jumps"}, {"range", true}});
  Table fast({{"prompt", true}, {"speed-up"}, {"with grammar"}, {"kept"}, {"range", true}, {"answer", true}});
  Json report = model.new_report("grammar");
  model.probe().around([&] {
    report["slowdown"] = slowdown(model, flags, cache, slow);
    report["speculation"] = speculation(model, flags, cache, fast);
  });
  if (flags.report.table()) {
    fmt::print(
        "{}\nanswers of {} tokens; medians of {} runs in turn\n\nTime of a token under a JSON schema, of one "
        "without:\n{}\nWhat {} brings, one user, greedy:\n{}\n{}\n",
        app::printable(model.description()), flags.output_tokens, flags.runs, slow.str(), flags.method, fast.str(),
        describe(model.probe().measured()));
  }
  report["options"] = {{"output_tokens", flags.output_tokens}, {"runs", flags.runs}, {"method", flags.method}};
  write_report(flags.report, report);
  return 0;
}

}  // namespace

app::Command grammar() {
  return {.name = "grammar",
          .summary = "Measure what constrained decoding costs, and how much speculative decoding still gains with it",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<GrammarFlags>();
            app.add_option("model", flags->model.model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
            app.add_option("--users", flags->users, "Numbers of concurrent requests to measure, comma-separated")
                ->delimiter(',')
                ->allow_extra_args(false)
                ->check(CLI::Range(1, 4096));
            app.add_option("--method", flags->method, "Speculation method to measure, as in --spec-method");
            app.add_option("--output-tokens", flags->output_tokens, "Tokens per completion")
                ->check(CLI::Range(std::int64_t{8}, std::int64_t{2048}));
            app.add_option("--runs", flags->runs, "Number of measured rounds")->check(CLI::Range(1, 1000));
            flags->model.declare(app);
            flags->serving.declare(app);
            flags->report.declare(app);
            return [flags] { return grammar_run(*flags); };
          },
          .example = "millrace bench grammar default --users 1,4"};
}

}  // namespace millrace::bench::commands
