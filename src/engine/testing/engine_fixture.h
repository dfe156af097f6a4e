#pragma once

// The engine on a small model of random weights.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "backend/testing/test_backend.h"
#include "engine/engine.h"
#include "engine/local_executor.h"
#include "engine/testing/made_adapters.h"
#include "kv/disk_tier.h"
#include "model/make_spec.h"
#include "model/testing/random_tokens.h"
#include "model/testing/test_ranks.h"
#include "text/testing/vocabularies.h"

namespace millrace::engine {

inline const std::string kModel = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama";

using model::random_tokens;

// The same rows in memory of a test's own: results of a device are there to be read alone.
inline TensorView own_copy(const TensorView& rows, std::vector<float>& memory) {
  memory.clear();
  for (std::int64_t i = 0; i < rows.rows(); ++i) memory.insert(memory.end(), rows.row(i), rows.row(i) + rows.cols());
  return {memory.data(), DType::kF32, rows.shape};
}

class EngineTest : public testing::Test {
 protected:
  // A table of positions ends.
  static std::int64_t longest(const model::ModelSpec& spec) {
    return spec.positions == model::PositionKind::kNone ? 512 : std::min<std::int64_t>(512, spec.context_length);
  }
  // Without a backend it is one of the model's ranks, if tests have several (TestRanks).
  // `change` is made to the spec that the checkpoint's configuration gives.
  explicit EngineTest(const std::string& model = kModel, std::unique_ptr<backend::Backend> backend = nullptr,
                      const std::function<model::ModelSpec(model::ModelSpec)>& change = std::identity())
      : checkpoint_(checkpoint::open_checkpoint(Env::system(), model).or_throw()),
        ranks_(backend != nullptr
                   ? nullptr
                   : std::make_unique<model::TestRanks>(model, longest(model::make_spec(*checkpoint_).or_throw()),
                                                        change, read_test_adapter)),
        backend_(backend != nullptr ? std::move(backend) : backend::make_test_backend(2, "", ranks_->group())),
        transformer_(*checkpoint_, change(model::make_spec(*checkpoint_).or_throw()), *backend_,
                     {.max_length = longest(model::make_spec(*checkpoint_).or_throw()),
                      .shards = ranks_ == nullptr ? nullptr : ranks_->shards(),
                      .group = ranks_ == nullptr ? nullptr : ranks_->group(),
                      .leader = ranks_ == nullptr ? nullptr : ranks_->leader()}),
        tokenizer_(text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt2")).or_throw()) {}

  std::unique_ptr<Engine> make(std::int64_t budget = 512, std::int64_t kv_tokens = 4096,
                               const backend::KvFormat& pages = {}) {
    Config config;
    config.scheduling.max_batched_tokens = budget;
    return make(config, kv_tokens, pages);
  }
  std::unique_ptr<Engine> make(Config config, std::int64_t kv_tokens, const backend::KvFormat& pages = {},
                               kv::DiskTier* disk = nullptr, Env& env = Env::system()) {
    config.scheduling.max_sequences = 16;
    config.side_by_side_logits = 0;  // few as there are in these tests
    auto executor = LocalExecutor::create(transformer_, *backend_, pages, kv_tokens, depth_, window_pages_).or_throw();
    executor_ = executor.get();
    executor_->set_adapters(adapters_);
    return Engine::create(std::move(executor), tokenizer_, env, config, disk).or_throw();
  }

  // The tokens of every request when all run together over pages of that form.
  std::vector<std::vector<std::int32_t>> answers_over(const backend::KvFormat& pages) {
    const auto engine = make(33, 4096, pages);
    for (unsigned i = 0; i < 6; ++i) engine->submit(request(5 + 23 * i, i)).or_throw();
    std::vector<std::vector<std::int32_t>> answers;
    for (const auto& [id, collected] : drain(*engine)) answers.push_back(collected.tokens);
    return answers;
  }

  // What drafters for the engine made last are made from; where one is a model's, it is the model itself, and heads are
  // in a directory.
  draft::DrafterOptions drafter_options(const backend::KvFormat& pages, const std::string& heads = "") {
    draft::DrafterOptions options;
    options.heads = heads;
    options.place = {.target = &transformer_,
                     .checkpoint = checkpoint_.get(),
                     .store = &executor_->store(),
                     .backend = backend_.get(),
                     .form = pages,
                     .pages = executor_->pages()};
    options.model = {&transformer_, [](model::Transformer*) {}};
    return options;
  }
  std::unique_ptr<draft::Drafter> drafter_of(std::string_view method, const draft::DrafterOptions& options) {
    auto made = draft::make_drafter(method, options).or_throw();
    return made;
  }
  std::unique_ptr<draft::Drafter> drafter(std::string_view method, const backend::KvFormat& pages,
                                          const std::string& heads = "") {
    return drafter_of(method, drafter_options(pages, heads));
  }

  Request request(std::size_t prompt, unsigned seed, std::int64_t answer = 20) {
    Request r;
    r.tokens = random_tokens(prompt, seed);
    r.sampling.seed = seed;
    r.sampling.temperature = seed % 2 == 0 ? 0.0 : 0.9;
    r.sampling.max_tokens = answer;
    r.sampling.ignore_eos = true;
    return r;
  }

  struct Collected {
    std::vector<std::int32_t> tokens;
    std::vector<TokenScore> scores;  // of them, where they are asked for
    std::string text;
    Output last;
  };
  static std::map<RequestId, Collected> drain(Engine& engine) {
    std::map<RequestId, Collected> results;
    while (!engine.idle()) {
      for (Output& output : engine.step()) {
        Collected& r = results[output.request];
        if (output.token) r.tokens.push_back(*output.token);
        if (output.score) r.scores.push_back(*output.score);
        r.text += output.text;
        r.last = output;
      }
    }
    return results;
  }

  // The answers to one request that runs to its end, by choice.
  static std::map<int, Collected> drain(Engine& engine, RequestId id) {
    std::map<int, Collected> answers;
    while (!engine.idle()) {
      for (Output& output : engine.step()) {
        if (output.request != id) continue;
        Collected& r = answers[output.choice];
        if (output.token) r.tokens.push_back(*output.token);
        if (output.score) r.scores.push_back(*output.score);
        r.text += output.text;
        r.last = output;
      }
    }
    return answers;
  }

  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::unique_ptr<model::TestRanks> ranks_;
  std::unique_ptr<backend::Backend> backend_;
  model::Transformer transformer_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  LocalExecutor* executor_ = nullptr;  // of the engine made last
  int depth_ = 1;                      // of the executor made next
  std::int32_t window_pages_ = 0;      // likewise
  std::shared_ptr<model::LoraSet> adapters_ = std::make_shared<model::LoraSet>();
};

}  // namespace millrace::engine
