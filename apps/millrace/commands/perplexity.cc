#include <cmath>
#include <cstdio>

#include "base/env.h"
#include "cli.h"
#include "command.h"
#include "kv/block_table.h"
#include "kv/kv_store.h"
#include "loaded_model.h"

namespace millrace::commands {
namespace {

struct PerplexityFlags {
  app::ModelFlags model;
  std::string file;
  std::int64_t window = 1024;
  std::int64_t chunk = 256;
  bool json = false;
};

// -log p(target) from a row of logits, in double.
double negative_log_likelihood(std::span<const float> logits, std::int32_t target) {
  double maximum = logits[0];
  for (const float v : logits) maximum = std::max(maximum, static_cast<double>(v));
  double sum = 0.0;
  for (const float v : logits) sum += std::exp(static_cast<double>(v) - maximum);
  return maximum + std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(target)]);
}

// The text in windows of `window` tokens, each scored from its second token on, as the reference script does.
int perplexity(const PerplexityFlags& flags) {
  app::LoadedModel loaded = app::load_model(flags.model);
  model::Transformer& transformer = *loaded.transformer;
  const std::string text = read_file(Env::system(), flags.file, std::uint64_t{1} << 30).or_throw();
  if (loaded.checkpoint->tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", loaded.checkpoint->path);
  }
  const std::vector<std::int32_t> tokens = loaded.checkpoint->tokenizer->encode(text, false, false);
  const std::int64_t window = std::min(flags.window, transformer.max_length());
  const kv::KvGroups groups = transformer.kv_groups(flags.model.kv_pages());
  const auto pages = static_cast<std::int32_t>((window + groups.block_tokens - 1) / groups.block_tokens);
  kv::BlockPool pool(pages);
  kv::BlockTable table(pool, groups.block_tokens);
  const kv::KvStore store = kv::KvStore::create(*loaded.backend, groups, pages).or_throw();
  table.reserve(window);
  double total = 0.0, squares = 0.0;
  std::int64_t scored = 0;
  const TimePoint start = Env::system().now();
  for (std::int64_t begin = 0; begin + 1 < static_cast<std::int64_t>(tokens.size()); begin += window) {
    const std::int64_t end = std::min(begin + window, static_cast<std::int64_t>(tokens.size()));
    for (std::int64_t at = begin; at < end; at += flags.chunk) {
      const std::int64_t n = std::min(flags.chunk, end - at);
      model::BatchInput input;
      input.tokens.assign(tokens.begin() + at, tokens.begin() + at + n);
      input.sequences = {{.first_row = 0, .n_rows = n, .first_position = at - begin, .pages = table.blocks()}};
      for (std::int64_t i = 0; i < n && at + i + 1 < end; ++i) input.logit_rows.push_back(i);
      const TensorView logits = transformer.forward(input, store);
      for (std::size_t i = 0; i < input.logit_rows.size(); ++i) {
        const std::span<const float> row(logits.row(static_cast<std::int64_t>(i)),
                                         static_cast<std::size_t>(logits.cols()));
        const double nll = negative_log_likelihood(row, tokens[static_cast<std::size_t>(at) + i + 1]);
        total += nll;
        squares += nll * nll;
        ++scored;
      }
    }
  }
  if (scored == 0) throw_load_error(ErrorCode::kInvalidArgument, "file", "{}: fewer than two tokens", flags.file);
  const double mean = total / static_cast<double>(scored);
  const double deviation = std::sqrt(std::max(0.0, squares / static_cast<double>(scored) - mean * mean));
  const double error = deviation / std::sqrt(static_cast<double>(scored)) * std::exp(mean);
  const double seconds = milliseconds_between(start, Env::system().now()) / 1000.0;
  if (flags.json) {
    std::printf("{\"perplexity\": %.6f, \"error\": %.6f, \"tokens\": %lld, \"window\": %lld, \"seconds\": %.2f}\n",
                std::exp(mean), error, static_cast<long long>(scored), static_cast<long long>(window), seconds);
  } else {
    std::printf("perplexity %.4f +- %.4f over %lld tokens in windows of %lld (%.1f s)\n", std::exp(mean), error,
                static_cast<long long>(scored), static_cast<long long>(window), seconds);
  }
  return 0;
}

}  // namespace

app::Command perplexity() {
  return {.name = "perplexity",
          .summary = "Measure the perplexity of a model on a text file",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<PerplexityFlags>();
            app.add_option("model", flags->model.model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
            app.add_option("-f,--file", flags->file, "Text file to score")->required();
            app.add_option("--window", flags->window, "Context window in tokens; the text is scored window by window")
                ->check(CLI::Range(2, 1 << 24));
            app.add_option("--chunk", flags->chunk, "Tokens computed per step; changes speed, not the result")
                ->check(CLI::Range(1, 1 << 16));
            app.add_flag("--json", flags->json, "Print the result as one JSON object");
            flags->model.declare(app);
            return [flags] { return perplexity(*flags); };
          }};
}

}  // namespace millrace::commands
