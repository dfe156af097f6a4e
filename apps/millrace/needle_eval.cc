#include "needle_eval.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "chat/prompt_writer.h"
#include "cli.h"
#include "engine/load/needle_evaluation.h"
#include "option_heading.h"

namespace millrace::app {
namespace {

using Json = nlohmann::ordered_json;
using Found = std::vector<std::vector<bool>>;  // by depth and trial

constexpr std::int64_t kShortest = 512;
const std::vector<int> kDepths = {0, 25, 50, 75, 100};

// What is measured with one type of keys and values.
struct KvRun {
  std::string name;
  backend::KvFormat pages;
  std::vector<Found> found = {};  // by length
};

std::vector<std::int64_t> lengths_of(const NeedleFlags& flags, const LoadedModel& loaded) {
  const std::int64_t limit = loaded.transformer->max_length();
  for (const std::int64_t length : flags.lengths) {
    if (length <= limit) continue;
    throw_load_error(ErrorCode::kInvalidArgument, "needle-lengths",
                     "needle-lengths has {}: the context of {} is {} tokens", length, loaded.checkpoint->path, limit);
  }
  if (!flags.lengths.empty()) return flags.lengths;
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = kShortest; length < limit; length *= 2) lengths.push_back(length);
  lengths.push_back(limit);
  return lengths;
}

std::vector<KvRun> runs_of(const ModelFlags& model) {
  runtime::ModelConfig plain = model;
  plain.kv_cache_dtype = "bf16";
  plain.kv_exceptions.clear();
  std::vector<KvRun> runs = {{.name = "bf16", .pages = plain.kv_pages()}};
  const backend::KvFormat wanted = model.kv_pages();
  if (wanted.encoding != runs[0].pages.encoding || !model.kv_exceptions.empty()) {
    const std::string but = model.kv_exceptions.empty() ? "" : " but " + model.kv_exceptions;
    runs.push_back({.name = std::string(wanted.encoding) + but, .pages = wanted});
  }
  return runs;
}

void print_heading(const NeedleFlags& flags, bool chat) {
  std::printf(
      "Percent of %lld numbers found in a filler text, asked for at its end%s, by how deep in it they are\n%8s  %-12s",
      static_cast<long long>(flags.trials), chat ? " by the chat template" : "", "tokens", "KV cache");
  for (const int depth : kDepths) std::printf(" %4d %%", depth);
  std::printf("\n");
}

void print_row(std::int64_t length, const KvRun& run) {
  std::printf("%8lld  %-12s", static_cast<long long>(length), run.name.c_str());
  for (const std::vector<bool>& trials : run.found.back()) {
    const auto right = std::ranges::count(trials, true);
    std::printf(" %6.0f", 100.0 * static_cast<double>(right) / static_cast<double>(trials.size()));
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Of the numbers that the first run found, and all in all.
struct Kept {
  std::int64_t kept = 0, found_by_first = 0, found = 0, asked = 0;
};
Kept count_kept(const KvRun& first, const KvRun& run) {
  Kept count;
  for (std::size_t length = 0; length < run.found.size(); ++length) {
    for (std::size_t depth = 0; depth < kDepths.size(); ++depth) {
      const std::vector<bool>&expected = first.found[length][depth], &trials = run.found[length][depth];
      for (std::size_t i = 0; i < trials.size(); ++i) {
        ++count.asked;
        count.found += trials[i];
        count.found_by_first += expected[i];
        count.kept += trials[i] && expected[i];
      }
    }
  }
  return count;
}

void print_kept(const std::vector<KvRun>& runs) {
  const Kept count = count_kept(runs.front(), runs.back());
  std::printf("%s found %lld of %lld", runs[0].name.c_str(), static_cast<long long>(count.found_by_first),
              static_cast<long long>(count.asked));
  if (runs.size() > 1) {
    std::printf(", %s %lld: it kept %lld of the %lld", runs[1].name.c_str(), static_cast<long long>(count.found),
                static_cast<long long>(count.kept), static_cast<long long>(count.found_by_first));
  }
}

Json describe(const std::vector<KvRun>& runs, const std::vector<std::int64_t>& lengths, const NeedleFlags& flags,
              bool chat) {
  Json out = {{"lengths", lengths}, {"depths", kDepths}, {"trials", flags.trials}, {"chat_template", chat}};
  for (const KvRun& run : runs) {
    Json rows = Json::array();
    for (const Found& found : run.found) {
      Json row = Json::array();
      for (const std::vector<bool>& trials : found) row.push_back(std::ranges::count(trials, true));
      rows.push_back(row);
    }
    const Kept count = count_kept(runs.front(), run);
    out["kv"].push_back({{"name", run.name}, {"right", rows}, {"found", count.found}, {"kept", count.kept}});
  }
  out["asked"] = count_kept(runs.front(), runs.front()).asked;
  return out;
}

}  // namespace

void NeedleFlags::declare(CLI::App& app) {
  const OptionHeading heading(app, "Needle in a haystack");
  auto* needle = app.add_flag("--needle", wanted,
                              "Hide a number in filler text and ask for it (passkey retrieval), and print the share "
                              "found by length and depth. A --kv-cache-dtype other than bf16 is compared with bf16");
  app.add_option("--needle-lengths", lengths,
                 "Context lengths in tokens, prompt and completion; default: powers of two from 512, and the "
                 "context window of the model")
      ->delimiter(',')
      ->needs(needle)
      ->check(CLI::Range(std::int64_t{1}, runtime::kMaxModelLength))
      ->type_name("TOKENS[,...]");
  app.add_option("--needle-trials", trials, "Numbers hidden at each length and depth")
      ->needs(needle)
      ->check(CLI::Range(1, 1000));
  app.add_option("--needle-seed", seed, "Seed of the numbers")->needs(needle);
}

int run_needle_eval(const ModelFlags& model, const NeedleFlags& flags, std::int64_t chunk, bool json) {
  std::vector<KvRun> runs = runs_of(model);
  LoadedModel loaded = load_model(model);
  const std::vector<std::int64_t> lengths = lengths_of(flags, loaded);
  const PromptWriter writer(*loaded.checkpoint);
  const bool chat = !writer.chat_template().empty();
  const text::Tokenizer& tokenizer = *loaded.checkpoint->tokenizer;
  const std::string start = (chat ? "" : "\n") + std::string(engine::load::needle_answer_start());
  const std::vector<std::int32_t> answer_start = tokenizer.encode(start, false, false);
  const auto encode = [&](const std::string& text) {
    std::vector<std::int32_t> tokens = writer.of_question(text);
    tokens.insert(tokens.end(), answer_start.begin(), answer_start.end());
    return tokens;
  };
  const engine::load::NeedleLoad load{.encode = encode,
                                      .tokenizer = tokenizer,
                                      .depths = kDepths,
                                      .trials = flags.trials,
                                      .seed = flags.seed,
                                      .chunk = chunk};
  const TimePoint begin = Env::system().now();
  if (!json) print_heading(flags, chat);
  for (const std::int64_t length : lengths) {
    for (KvRun& run : runs) {
      run.found.push_back(find_needles({*loaded.transformer, *loaded.backend, run.pages}, load, length));
      if (!json) print_row(length, run);
    }
  }
  const double seconds = milliseconds_between(begin, Env::system().now()) / 1000.0;
  if (json) {
    Json out = describe(runs, lengths, flags, chat);
    out["seconds"] = seconds;
    std::printf("%s\n", out.dump().c_str());
  } else {
    print_kept(runs);
    std::printf(", in %.1f s\n", seconds);
  }
  return 0;
}

}  // namespace millrace::app
