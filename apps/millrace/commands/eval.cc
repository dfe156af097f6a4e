#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli.h"
#include "command.h"
#include "engine/load/text_evaluation.h"
#include "evaluation.h"
#include "model/weight_errors.h"
#include "model_flags.h"
#include "needle_eval.h"

namespace millrace::app {
namespace {

using Json = nlohmann::ordered_json;

struct EvalFlags {
  ModelFlags model;
  NeedleFlags needle;
  std::string file, reference;
  std::int64_t window = 1024, stride = 0, chunk = 256, limit = 0;
  bool weights = false, json = false;
};

// The model that others are measured by: as its files are, multiplied in f32.
LoadedModel load_reference(const EvalFlags& flags) {
  ModelFlags exact = flags.model;
  exact.model = flags.reference;
  exact.quantization.clear();
  exact.imatrix.clear();
  exact.memory = 0;
  exact.matmul_precision = exact.kv_cache_dtype = "f32";
  return load_model(exact);
}

std::vector<std::int32_t> tokens_of(const EvalFlags& flags, const checkpoint::Checkpoint& checkpoint) {
  const std::string text = read_file(Env::system(), flags.file, std::uint64_t{1} << 30).or_throw();
  if (checkpoint.tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", checkpoint.path);
  }
  std::vector<std::int32_t> tokens = checkpoint.tokenizer->encode(text, false, false);
  if (flags.limit > 0 && std::ssize(tokens) > flags.limit) tokens.resize(static_cast<std::size_t>(flags.limit));
  return tokens;
}

void check_reference_vocabulary(const LoadedModel& loaded, const LoadedModel& reference) {
  const std::int64_t own = loaded.transformer->spec().vocab_size, other = reference.transformer->spec().vocab_size;
  if (own == other) return;
  throw_load_error(ErrorCode::kInvalidArgument, "reference", "{}: a vocabulary of {}, the model's has {}",
                   reference.checkpoint->path, other, own);
}

Json describe(const engine::load::TextEvaluation& measured, bool with_reference) {
  Json out = {{"perplexity", measured.perplexity.value()},
              {"error", measured.perplexity.error()},
              {"tokens", measured.perplexity.tokens()}};
  if (!with_reference) return out;
  const decode::Divergence& kld = measured.divergence;
  out["reference_perplexity"] = measured.reference.value();
  out["kld"] = {{"mean", kld.mean()},        {"error", kld.error()},       {"median", kld.quantile(0.5)},
                {"p99", kld.quantile(0.99)}, {"largest", kld.quantile(1)}, {"same_top", kld.same_top()}};
  return out;
}

Json describe(const std::vector<model::WeightError>& errors) {
  Json all = Json::array();
  for (const model::WeightError& error : errors) {
    all.push_back({{"name", error.name},
                   {"format", error.format->name},
                   {"values", error.values},
                   {"relative", error.relative},
                   {"largest", error.largest}});
  }
  return all;
}

void print(const engine::load::TextEvaluation& measured, bool with_reference) {
  std::printf("perplexity %.4f +- %.4f over %lld tokens\n", measured.perplexity.value(), measured.perplexity.error(),
              static_cast<long long>(measured.perplexity.tokens()));
  if (!with_reference) return;
  const decode::Divergence& kld = measured.divergence;
  std::printf(
      "the reference's perplexity %.4f: %+.2f %%\n"
      "divergence (KLD) %.6f +- %.6f, median %.6f, 99 %% %.6f, largest %.4f; the same most likely token in %.2f %%\n",
      measured.reference.value(), 100.0 * (measured.perplexity.value() / measured.reference.value() - 1.0), kld.mean(),
      kld.error(), kld.quantile(0.5), kld.quantile(0.99), kld.quantile(1.0), 100.0 * kld.same_top());
}

void print(std::vector<model::WeightError> errors) {
  constexpr std::size_t kShown = 10;
  std::ranges::sort(errors, std::greater(), &model::WeightError::relative);
  std::printf("%-52s %-12s %12s %12s\n", "weight, the worst first", "format", "relative", "largest");
  for (std::size_t i = 0; i < std::min(kShown, errors.size()); ++i) {
    std::printf("%-52s %-12s %12.6f %12.6f\n", errors[i].name.c_str(), std::string(errors[i].format->name).c_str(),
                errors[i].relative, errors[i].largest);
  }
  if (errors.size() > kShown) std::printf("and %zu more: --json has all\n", errors.size() - kShown);
}

void check(const EvalFlags& flags) {
  if (flags.file.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "file",
                     "--file is required: the text to score, unless --needle makes one");
  }
  if (flags.weights && flags.reference.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "weights", "--weights compares with --reference, which is missing");
  }
}

int evaluate(const EvalFlags& flags) {
  check(flags);
  const bool with_reference = !flags.reference.empty();
  LoadedModel loaded = load_model(flags.model);
  const std::vector<std::int32_t> tokens = tokens_of(flags, *loaded.checkpoint);
  std::optional<LoadedModel> reference;
  if (with_reference) check_reference_vocabulary(loaded, reference.emplace(load_reference(flags)));
  const std::int64_t window = std::min(flags.window, loaded.transformer->max_length());
  if (window < 2) {
    throw_load_error(ErrorCode::kInvalidArgument, "window", "{}: windows of {} token: 2 are needed to score one",
                     loaded.checkpoint->path, window);
  }
  const text::Tokenizer& tokenizer = *loaded.checkpoint->tokenizer;
  const engine::load::TextLoad load{.window = window,
                                    .stride = flags.stride,
                                    .chunk = flags.chunk,
                                    .bos = tokenizer.adds_bos() ? tokenizer.bos() : std::nullopt};
  const TimePoint start = Env::system().now();
  const engine::load::ScoredModel scored{*loaded.transformer, *loaded.backend, flags.model.kv_pages()};
  std::optional<engine::load::ScoredModel> exact;
  if (reference) exact.emplace(*reference->transformer, *reference->backend, reference->config.kv_pages());
  const auto measured = engine::load::evaluate_text(scored, exact ? &*exact : nullptr, tokens, load);
  const double seconds = milliseconds_between(start, Env::system().now()) / 1000.0;
  if (measured.perplexity.tokens() == 0) {
    throw_load_error(ErrorCode::kInvalidArgument, "file", "{}: fewer than two tokens", flags.file);
  }
  std::vector<model::WeightError> errors;
  if (flags.weights) {
    errors = model::weight_errors({*loaded.checkpoint, loaded.transformer->spec(), loaded.quantization},
                                  {*reference->checkpoint, reference->transformer->spec()});
  }
  if (flags.json) {
    Json out = describe(measured, with_reference);
    out["window"] = window;
    out["stride"] = flags.stride > 0 ? flags.stride : window;
    out["seconds"] = seconds;
    if (flags.weights) out["weights"] = describe(errors);
    std::printf("%s\n", out.dump().c_str());
    return 0;
  }
  print(measured, with_reference);
  if (flags.weights) print(errors);
  std::printf("windows of %lld tokens, %.1f s\n", static_cast<long long>(window), seconds);
  return 0;
}

}  // namespace

std::function<int()> configure_evaluation(CLI::App& app) {
  auto flags = std::make_shared<EvalFlags>();
  app.add_option("model", flags->model.model,
                 "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
  app.add_option("-f,--file", flags->file, "Text file to score")->type_name("FILE");
  app.add_option("--reference", flags->reference,
                 "Model to compare with, computed in f32 in the same process: adds the divergence (KLD) of the "
                 "next-token distributions and how often both prefer the same token")
      ->type_name("MODEL");
  app.add_flag("--weights", flags->weights, "With --reference: the error of each weight too");
  app.add_option("--window", flags->window,
                 "Context window in tokens; the text is scored window by window, each behind the BOS token that the "
                 "model wants")
      ->check(CLI::Range(2, 1 << 24));
  app.add_option("--stride", flags->stride,
                 "Tokens from one window to the next; 0 = a window, so that they do not overlap. A shorter stride "
                 "gives each token more context")
      ->check(CLI::Range(0, 1 << 24));
  app.add_option("--limit", flags->limit, "Max tokens of the text; 0 = all of it")->check(CLI::Range(0, 1 << 30));
  app.add_option("--chunk", flags->chunk, "Tokens computed per step; changes speed, not the result")
      ->check(CLI::Range(1, 1 << 16));
  app.add_flag("--json", flags->json, "Print the result as one JSON object");
  flags->needle.declare(app);
  for (const char* of_text : {"--file", "--reference", "--weights", "--window", "--stride", "--limit"}) {
    app.get_option(of_text)->excludes(app.get_option("--needle"));
  }
  flags->model.declare(app);
  return [flags] {
    if (!flags->needle.wanted) return evaluate(*flags);
    return run_needle_eval(flags->model, flags->needle, flags->chunk, flags->json);
  };
}

}  // namespace millrace::app

namespace millrace::commands {

app::Command eval() {
  return {.name = "eval",
          .summary = "Measure the perplexity of a model on a text, and what quantization costs beside a reference",
          .configure = app::configure_evaluation,
          .example = "millrace eval default --file text.txt"};
}

}  // namespace millrace::commands
