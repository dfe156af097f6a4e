#include <algorithm>
#include <cmath>
#include <cstdio>

#include "adapter_flags.h"
#include "bench/model_run.h"
#include "bench/rigged_drafter.h"
#include "bench/speculation_prompts.h"
#include "bench/table.h"
#include "chat/prompt_writer.h"
#include "cli.h"
#include "command.h"
#include "printable.h"

namespace millrace::bench::commands {
namespace {

struct SpeculationFlags {
  app::ModelFlags model;
  app::EngineFlags serving;
  std::vector<std::string> methods = {"ngram", "suffix"}, rules = {"coupled"};
  std::vector<int> branches = {1};
  std::int64_t output_tokens = 128;
  double temperature = 0.0;
  int runs = 5;
  bool curve = false;
  ReportFlags report;
};

constexpr double kProbeSeconds = 0.05;
constexpr std::int64_t kKvTokens = 4096;

struct Answer {
  std::vector<std::int32_t> tokens;
  engine::RequestStats stats;
  std::int64_t steps = 0;
};

// One user: the request alone.
Answer answer_to(engine::Engine& engine, const std::vector<std::int32_t>& prompt, const SpeculationFlags& flags) {
  engine::Request request{.tokens = prompt};
  request.sampling.temperature = flags.temperature;
  request.sampling.seed = 1;
  request.sampling.max_tokens = flags.output_tokens;
  request.sampling.ignore_eos = flags.curve;
  const std::int64_t before = engine.counters().steps;
  engine.submit(std::move(request)).or_throw();
  Answer answer;
  while (!engine.idle()) {
    for (engine::Output& output : engine.step()) {
      if (output.error) throw LoadError(*output.error);
      if (output.token) answer.tokens.push_back(*output.token);
      answer.stats = output.stats;
    }
  }
  answer.steps = engine.counters().steps - before;
  return answer;
}

// A method, its engine, and what its answers took.
struct Contender {
  std::string method;
  app::ServingEngine serving;
  bool may_differ = false;      // its rule keeps the distribution alone
  std::vector<double> tpot_ms;  // of the prompt being asked
  Answer last;
};

Contender make_contender(const ModelRun& model, const SpeculationFlags& flags, const std::string& method,
                         const std::string& rule = "coupled", int branches = 1) {
  app::EngineFlags serving = flags.serving;
  serving.speculation.method = method;
  serving.speculation.rule = rule;
  serving.speculation.branches = branches;
  // Each prompt is asked several times: memory would know the answer.
  serving.speculation.options.values.set("suffix_tokens", 0.0);
  return {.method = method + (rule == "coupled" ? "" : ", " + rule) +
                    (branches == 1 ? "" : fmt::format(", {} branches", branches)),
          .serving = model.make_engine(serving, kKvTokens),
          .may_differ = flags.temperature > 0.0 && !serving.speculation.config().rule->same_tokens,
          .tpot_ms = {},
          .last = {}};
}

Json result_of(const SpeculationPrompt& prompt, const Contender& one, const Contender& plain) {
  const auto spread = metrics::spread_of(one.tpot_ms);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < one.tpot_ms.size(); ++i) ratios.push_back(plain.tpot_ms[i] / one.tpot_ms[i]);
  const engine::RequestStats& stats = one.last.stats;
  return {{"prompt", prompt.name},
          {"copies", prompt.copies},
          {"method", one.method},
          {"tpot_ms", json_of(spread)},
          {"speed_up", json_of(metrics::spread_of(ratios))},
          {"output_tokens", stats.output_tokens},
          {"drafted_tokens", stats.drafted_tokens},
          {"accepted_tokens", stats.accepted_tokens},
          {"same_answer", one.last.tokens == plain.last.tokens},
          {"may_differ", one.may_differ}};
}

std::vector<std::string> row_of(const Json& result) {
  const double tokens = result["output_tokens"], drafted = result["drafted_tokens"];
  const double accepted = result["accepted_tokens"];
  return {
      result["prompt"],
      result["copies"].get<bool>() ? "copies" : "",
      result["method"],
      rounded(result["tpot_ms"]["median"]),
      fmt::format("{:.2f}", result["speed_up"]["median"].get<double>()),
      fmt::format("{:.2f}-{:.2f}", result["speed_up"]["min"].get<double>(), result["speed_up"]["max"].get<double>()),
      rounded(tokens / std::max(1.0, tokens - accepted)),
      drafted > 0 ? fmt::format("{:.0f}", 100.0 * accepted / drafted) : "-",
      result["same_answer"].get<bool>()  ? "same"
      : result["may_differ"].get<bool>() ? "another"
                                         : "DIFFERENT"};
}

// Every prompt by every method in turn, so that what the machine does meanwhile is shared.
Json compare(const ModelRun& model, const SpeculationFlags& flags, Table& table) {
  std::vector<Contender> contenders;
  contenders.push_back(make_contender(model, flags, "none"));
  for (const std::string& method : flags.methods) {
    for (const std::string& rule : flags.rules) {
      for (const int branches : flags.branches) {
        contenders.push_back(make_contender(model, flags, method, rule, branches));
      }
    }
  }
  Json results = Json::array();
  for (const SpeculationPrompt& prompt : speculation_prompts()) {
    const auto tokens = app::PromptWriter(model.checkpoint()).of_question(std::string(prompt.text));
    for (Contender& one : contenders) one.tpot_ms.clear();
    for (int run = -1; run < flags.runs; ++run) {
      for (Contender& one : contenders) {
        one.last = answer_to(*one.serving.engine, tokens, flags);
        if (run >= 0) one.tpot_ms.push_back(one.last.stats.tpot_ms());
      }
    }
    for (std::size_t i = 1; i < contenders.size(); ++i) {
      results.push_back(result_of(prompt, contenders[i], contenders[0]));
      table.add(row_of(results.back()));
    }
  }
  return results;
}

// The draft model's real cost at a chosen acceptance, next to what theory has for it: (1 - a^(n+1)) / (1 - a) tokens in
// the time of a step of n+1 tokens and n passes of the draft model (arXiv:2211.17192, theorem 3.8).
Json curve(const ModelRun& model, const SpeculationFlags& flags, Table& table) {
  Json results = Json::array();
  Contender plain = make_contender(model, flags, "none");
  const std::vector<std::int32_t> prompt(64, 100);
  answer_to(*plain.serving.engine, prompt, flags);
  const Answer truth = answer_to(*plain.serving.engine, prompt, flags);
  for (const std::int64_t n : {1, 2, 4, 8}) {
    double relative_cost = 0.0;  // of a step with its draft, of one without: measured where no draft token is accepted
    for (const double acceptance : {0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0}) {
      app::EngineFlags serving = flags.serving;
      serving.speculation.method = "none";
      app::ServingEngine made = model.make_engine(serving, kKvTokens);
      serving.speculation.method = "draft-model";
      const auto speculation = app::resolved_speculation(serving.speculation, flags.model.hub);
      auto drafter =
          speculation.make_drafter(*made.executor, speculation.prepare(model.loaded(), serving.config().scheduling));
      auto rigged = std::make_unique<RiggedDrafter>(std::move(drafter), truth.tokens, acceptance);
      made.engine->speculate(std::move(rigged), engine::SpeculationConfig{.tokens = n, .adaptive = false});
      std::vector<double> ratios;
      Answer answer;
      double with = 0.0;
      for (int run = 0; run < flags.runs; ++run) {
        const double without = answer_to(*plain.serving.engine, prompt, flags).stats.tpot_ms();
        answer = answer_to(*made.engine, prompt, flags);
        with = answer.stats.tpot_ms();
        ratios.push_back(without / with);
      }
      const double speed_up = metrics::spread_of(ratios).median;
      if (acceptance == 0.0) relative_cost = 1.0 / speed_up;
      const double tokens = acceptance == 1.0
                                ? static_cast<double>(n + 1)
                                : (1.0 - std::pow(acceptance, static_cast<double>(n + 1))) / (1.0 - acceptance);
      results.push_back({{"tokens", n},
                         {"acceptance", acceptance},
                         {"speed_up", speed_up},
                         {"theory", tokens / relative_cost},
                         {"same_answer", answer.tokens == truth.tokens}});
      table.add({std::to_string(n), fmt::format("{:.1f}", acceptance), fmt::format("{:.2f}", speed_up),
                 fmt::format("{:.2f}", tokens / relative_cost), answer.tokens == truth.tokens ? "same" : "DIFFERENT"});
    }
  }
  return results;
}

int speculation(SpeculationFlags flags) {
  flags.report.check_writable();
  merge_adapters(flags.serving.adapters, flags.model);
  ModelRun model(flags.model, kProbeSeconds);
  Table table = flags.curve ? Table({{"drafted"}, {"acceptance"}, {"speed-up"}, {"theory"}, {"answer", true}})
                            : Table({{"prompt", true},
                                     {"", true},
                                     {"method", true},
                                     {"TPOT ms"},
                                     {"speed-up"},
                                     {"range", true},
                                     {"tokens a step"},
                                     {"right %"},
                                     {"answer", true}});
  Json results;
  model.probe().around([&] { results = flags.curve ? curve(model, flags, table) : compare(model, flags, table); });
  if (flags.report.table()) {
    fmt::print("{}\none user, answers of up to {} tokens, temperature {}; medians of {} runs in turn\n\n{}\n{}\n",
               app::printable(model.description()), flags.output_tokens, flags.temperature, flags.runs, table.str(),
               describe(model.probe().measured()));
  }
  Json report = model.new_report("speculation");
  report["options"] = {
      {"output_tokens", flags.output_tokens}, {"temperature", flags.temperature}, {"runs", flags.runs}};
  report["results"] = std::move(results);
  write_report(flags.report, report);
  return 0;
}

}  // namespace

app::Command speculation() {
  return {
      .name = "speculation",
      .summary = "Measure the speed-up of each speculation method for a single user",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto flags = std::make_shared<SpeculationFlags>();
        app.add_option("model", flags->model.model,
                       "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
        app.add_option("--methods", flags->methods,
                       "Speculation methods to compare with none, comma-separated, as in --spec-method")
            ->delimiter(',')
            ->allow_extra_args(false);
        app.add_option("--rules", flags->rules, "Verification rules to compare, comma-separated, as in --spec-rule")
            ->delimiter(',')
            ->allow_extra_args(false);
        app.add_option("--branches", flags->branches,
                       "Max draft tree branches to compare, comma-separated, as in --spec-branches")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->check(CLI::Range(1, draft::kMaxBranches));
        app.add_option("--output-tokens", flags->output_tokens, "Max tokens per completion")
            ->check(CLI::Range(std::int64_t{2}, std::int64_t{2048}));
        app.add_option("--temperature", flags->temperature, "Sampling temperature of the completions; 0 = greedy")
            ->check(CLI::Range(0.0, 10.0));
        app.add_option("--runs", flags->runs, "Number of measured completions per prompt")->check(CLI::Range(1, 1000));
        app.add_flag("--curve", flags->curve,
                     "Measure speed-up by acceptance rate instead, at the cost of --spec-model, with draft tokens "
                     "accepted at set rates");
        flags->model.declare(app);
        flags->serving.declare(app);
        flags->report.declare(app);
        return [flags] { return speculation(*flags); };
      },
      .example = "millrace bench speculation default --methods ngram"};
}

}  // namespace millrace::bench::commands
