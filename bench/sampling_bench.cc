// A whole sample() and what follows it, for settings that people use, over rows like a model's: a few likely tokens and
// a long flat tail.

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "decode/logits_pipeline.h"
#include "decode/processor.h"

namespace millrace::decode {
namespace {

constexpr std::size_t kRows = 8;

std::vector<std::vector<float>> rows_of(std::size_t vocab) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<std::vector<float>> rows(kRows, std::vector<float>(vocab));
  for (std::vector<float>& row : rows) {
    for (float& x : row) x = normal(random);
    for (int rank = 0; rank < 50; ++rank)
      row[random() % vocab] = 14.0f - 2.0f * std::log(1.0f + static_cast<float>(rank));
  }
  return rows;
}

struct Setting {
  const char* name;
  void (*set)(SamplingParams&);
};
constexpr Setting kSettings[] = {
    {"greedy", [](SamplingParams& p) { p.temperature = 0.0; }},
    {"plain", [](SamplingParams&) {}},
    {"temperature", [](SamplingParams& p) { p.temperature = 0.7; }},
    {"chat", [](SamplingParams& p) { p.temperature = 0.7, p.top_p = 0.95, p.min_p = 0.05; }},
    {"top_k", [](SamplingParams& p) { p.temperature = 0.7, p.top_k = 40; }},
    {"top_p", [](SamplingParams& p) { p.temperature = 0.7, p.top_p = 0.9; }},
    {"top_p_flat", [](SamplingParams& p) { p.temperature = 5.0, p.top_p = 0.9; }},
    {"qwen", [](SamplingParams& p) { p.temperature = 0.6, p.top_k = 20, p.top_p = 0.95; }},
    {"llama_cpp",
     [](SamplingParams& p) {
       p.temperature = 0.8, p.top_k = 40, p.top_p = 0.95, p.min_p = 0.05;
       p.samplers = {"penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"};
     }},
    {"penalties", [](SamplingParams& p) { p.temperature = 0.7, p.repetition_penalty = 1.1, p.presence_penalty = 0.5; }},
    {"typical_p", [](SamplingParams& p) { p.typical_p = 0.9; }},
    {"top_n_sigma", [](SamplingParams& p) { p.top_n_sigma = 1.0; }},
    {"xtc", [](SamplingParams& p) { p.xtc_probability = 1.0; }},
    {"dynatemp", [](SamplingParams& p) { p.dynatemp_range = 0.5; }},
    {"dry_2000_tokens", [](SamplingParams& p) { p.dry_multiplier = 0.8; }},
    {"mirostat_1", [](SamplingParams& p) { p.mirostat_mode = 1; }},
    {"mirostat_2", [](SamplingParams& p) { p.mirostat_mode = 2; }},
};

LogitsPipeline pipeline_of(const Setting& setting, std::size_t vocab) {
  SamplingParams params;
  setting.set(params);
  LogitsPipeline pipeline(params, static_cast<std::int64_t>(vocab));
  std::mt19937 random(2);
  std::vector<std::int32_t> prompt(2000);
  for (std::int32_t& token : prompt) token = static_cast<std::int32_t>(random() % 1000);
  pipeline.observe(prompt);
  return pipeline;
}

void sample(benchmark::State& state, const Setting& setting, std::size_t vocab) {
  const auto rows = rows_of(vocab);
  LogitsPipeline pipeline = pipeline_of(setting, vocab);
  std::int64_t position = 2000;
  for (auto _ : state) {
    benchmark::DoNotOptimize(pipeline.sample(rows[static_cast<std::size_t>(position) % kRows], position));
    ++position;
  }
}

void copy(benchmark::State& state, const Setting& setting, std::size_t vocab) {
  LogitsPipeline pipeline = pipeline_of(setting, vocab);
  for (std::int32_t token = 0; token < 1000; ++token) pipeline.accept(token * 7 % 500);
  for (auto _ : state) {
    LogitsPipeline other = pipeline;
    benchmark::DoNotOptimize(other);
  }
}

const int kRegistered = [] {
  for (const std::size_t vocab : {std::size_t{49152}, std::size_t{128256}}) {
    for (const Setting& setting : kSettings) {
      const std::string name = std::string(setting.name) + "/" + std::to_string(vocab);
      benchmark::RegisterBenchmark(("sample/" + name).c_str(), [&setting, vocab](benchmark::State& state) {
        sample(state, setting, vocab);
      })->Unit(benchmark::kMicrosecond);
    }
  }
  for (const Setting& setting : kSettings) {
    benchmark::RegisterBenchmark((std::string("copy_pipeline/") + setting.name).c_str(),
                                 [&setting](benchmark::State& state) { copy(state, setting, 128256); });
  }
  return 0;
}();

}  // namespace
}  // namespace millrace::decode
