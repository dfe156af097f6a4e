// What grammars cost: to compile, the first mask, and each mask while a text that fits is read token by token.
//
//   mask_bench --tokenizer MODEL|tiktoken-file --schemas lines.jsonl [--rounds N] [--json]
//
// The lines are {"name", "schema", "text"} (make_schemas.py). Each schema is compiled once, against a vocabulary that
// all share, as in a server; --cold gives each its own.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "grammar/compiled_grammar.h"
#include "grammar/language.h"
#include "grammar/matcher.h"

namespace millrace {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;
using std::chrono::steady_clock;

double since(steady_clock::time_point start) { return Milliseconds(steady_clock::now() - start).count(); }

struct Sample {
  std::string name, schema, text;
};

std::shared_ptr<const text::Tokenizer> open_tokenizer(const std::string& path) {
  if (!path.ends_with(".tiktoken")) return checkpoint::open_checkpoint(Env::system(), path).or_throw()->tokenizer;
  std::ifstream file(path);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return text::load_tiktoken(bytes, "").or_throw();
}

std::vector<Sample> read_samples(const std::string& path) {
  std::ifstream file(path);
  std::vector<Sample> samples;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::ordered_json::parse(line);
    samples.push_back({json["name"], json["schema"].dump(), json["text"]});
  }
  return samples;
}

struct Samples {
  std::vector<double> values;
  void print(const char* what, const char* unit, bool last = false) {
    std::ranges::sort(values);
    const auto at = [&](double share) {
      return values.empty() ? 0.0 : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    fmt::print("{:<24} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {}  ({} values)\n", what, at(0.5), at(0.9), at(0.99),
               at(1.0), unit, values.size());
    if (last) fmt::print("\n");
  }
};

struct Run {
  Samples compile_ms, mask_us, again_us;
  int rejected = 0, unfit = 0;
};

void measure(const Sample& sample, const std::shared_ptr<grammar::Vocabulary>& vocabulary, Run& run) {
  const auto start = steady_clock::now();
  grammar::WorkMeter meter;
  const auto read = grammar::read_grammar({.language = "json_schema", .text = sample.schema}, meter);
  if (!read) {
    fmt::print("{}: {}\n", sample.name, read.error().message);
    ++run.rejected;
    return;
  }
  const auto compiled = grammar::compile(*read, vocabulary, meter);
  if (!compiled) {
    fmt::print("{}: {}\n", sample.name, compiled.error().message);
    ++run.rejected;
    return;
  }
  run.compile_ms.values.push_back(since(start));
  std::vector<std::uint64_t> words(vocabulary->words());
  const auto tokens = vocabulary->tokenizer().encode(sample.text, false, false);
  for (Samples* samples : {&run.mask_us, &run.again_us}) {
    grammar::Matcher matcher(*compiled);
    for (const std::int32_t token : tokens) {
      const auto begin = steady_clock::now();
      matcher.fill_mask(words);
      samples->values.push_back(1000.0 * since(begin));
      const bool fits = words[static_cast<std::size_t>(token) / 64] >> (token % 64) & 1;
      if (!fits || !matcher.accept(token)) {
        fmt::print("{}: a token does not fit: '{}'\n", sample.name, vocabulary->tokenizer().token_bytes(token));
        ++run.unfit;
        return;
      }
    }
    if (!matcher.may_end()) ++run.unfit;
  }
}

// The vocabulary as bytes (in hexadecimal), and the texts as tokens: for others to measure the same (peers.py).
void dump(const std::string& path, const grammar::Vocabulary& vocabulary, const std::vector<Sample>& samples) {
  nlohmann::ordered_json out;
  for (std::int32_t token = 0; token < vocabulary.tokenizer().vocab_size(); ++token) {
    std::string hex;
    const bool is_text = !vocabulary.tokenizer().is_special(token);
    for (const char c : is_text ? vocabulary.bytes(token) : std::string_view()) {
      hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    out["tokens"].push_back(std::move(hex));
  }
  out["ends"] = std::vector<std::int32_t>(vocabulary.ends().begin(), vocabulary.ends().end());
  for (const Sample& sample : samples) {
    out["samples"].push_back({{"name", sample.name},
                              {"schema", sample.schema},
                              {"tokens", vocabulary.tokenizer().encode(sample.text, false, false)}});
  }
  std::ofstream(path) << out;
}

int bench(int argc, char** argv) {
  CLI::App app("What grammars cost");
  std::string tokenizer, schemas, dumped;
  bool cold = false;
  int rounds = 2;
  app.add_option("--tokenizer", tokenizer, "A model, or a .tiktoken file")->required();
  app.add_option("--schemas", schemas, "Lines of {name, schema, text}")->required();
  app.add_option("--rounds", rounds, "Over all schemas, each compiled anew")->check(CLI::Range(1, 100));
  app.add_option("--dump", dumped, "Only write what is measured to this file");
  app.add_flag("--cold", cold, "No schema knows what others have in common with it");
  CLI11_PARSE(app, argc, argv);
  const auto loaded = open_tokenizer(tokenizer);
  const auto samples = read_samples(schemas);
  const auto start = steady_clock::now();
  auto vocabulary = grammar::make_vocabulary(loaded);
  if (!dumped.empty()) {
    dump(dumped, *vocabulary, samples);
    return 0;
  }
  fmt::print("{} tokens, tree in {:.0f} ms; {} schemas\n\n", loaded->vocab_size(), since(start), samples.size());
  for (int round = 0; round < rounds; ++round) {
    Run run;
    for (const Sample& sample : samples) {
      if (cold) vocabulary->forget();
      measure(sample, vocabulary, run);
    }
    fmt::print("round {:<18} {:>9} {:>9} {:>9} {:>9}\n", round + 1, "median", "p90", "p99", "largest");
    run.compile_ms.print("compile and first mask", "ms");
    run.mask_us.print("mask, new text", "us");
    run.again_us.print("mask, same text again", "us", true);
    fmt::print("refused: {}, texts that did not fit: {}; known parts {}\n\n", run.rejected, run.unfit,
               vocabulary->known());
  }
  return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) { return millrace::bench(argc, argv); }
