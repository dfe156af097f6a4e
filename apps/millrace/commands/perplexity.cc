#include <algorithm>
#include <cstdio>

#include "base/env.h"
#include "cli.h"
#include "command.h"
#include "engine/load/text_perplexity.h"
#include "model_flags.h"

namespace millrace::commands {
namespace {

struct PerplexityFlags {
  app::ModelFlags model;
  std::string file;
  std::int64_t window = 1024;
  std::int64_t chunk = 256;
  bool json = false;
};

int perplexity(const PerplexityFlags& flags) {
  app::LoadedModel loaded = app::load_model(flags.model);
  const std::string text = read_file(Env::system(), flags.file, std::uint64_t{1} << 30).or_throw();
  if (loaded.checkpoint->tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", loaded.checkpoint->path);
  }
  const text::Tokenizer& tokenizer = *loaded.checkpoint->tokenizer;
  const std::vector<std::int32_t> tokens = tokenizer.encode(text, false, false);
  const std::int64_t window = std::min(flags.window, loaded.transformer->max_length());
  if (window < 2) {
    throw_load_error(ErrorCode::kInvalidArgument, "window", "{}: windows of {} token: 2 are needed to score one",
                     loaded.checkpoint->path, window);
  }
  const TimePoint start = Env::system().now();
  const decode::Perplexity measured =
      engine::load::measure_perplexity(*loaded.transformer, *loaded.backend, tokens,
                                       {.window = window,
                                        .chunk = flags.chunk,
                                        .bos = tokenizer.adds_bos() ? tokenizer.bos() : std::nullopt,
                                        .pages = flags.model.kv_pages()});
  const double seconds = milliseconds_between(start, Env::system().now()) / 1000.0;
  const auto scored = static_cast<long long>(measured.tokens());
  if (scored == 0) throw_load_error(ErrorCode::kInvalidArgument, "file", "{}: fewer than two tokens", flags.file);
  if (flags.json) {
    std::printf("{\"perplexity\": %.6f, \"error\": %.6f, \"tokens\": %lld, \"window\": %lld, \"seconds\": %.2f}\n",
                measured.value(), measured.error(), scored, static_cast<long long>(window), seconds);
  } else {
    std::printf("perplexity %.4f +- %.4f over %lld tokens in windows of %lld (%.1f s)\n", measured.value(),
                measured.error(), scored, static_cast<long long>(window), seconds);
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
            app.add_option("-f,--file", flags->file, "Text file to score")->type_name("FILE")->required();
            app.add_option("--window", flags->window,
                           "Context window in tokens; the text is scored window by window, each behind the BOS token "
                           "that the model wants")
                ->check(CLI::Range(2, 1 << 24));
            app.add_option("--chunk", flags->chunk, "Tokens computed per step; changes speed, not the result")
                ->check(CLI::Range(1, 1 << 16));
            app.add_flag("--json", flags->json, "Print the result as one JSON object");
            flags->model.declare(app);
            return [flags] { return perplexity(*flags); };
          },
          .example = "millrace perplexity default --file text.txt"};
}

}  // namespace millrace::commands
