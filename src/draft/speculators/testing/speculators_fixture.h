#pragma once

// For tests: random speculators on a tiny target whose hidden states are made up.

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/testing/test_backend.h"
#include "draft/drafter.h"
#include "draft/speculators/testing/made_speculators.h"
#include "model/blocks/attention.h"
#include "model/make_spec.h"

namespace millrace::draft {

inline const std::string kTiny = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama";
inline constexpr std::int64_t kHidden = 32, kVocabulary = 64;

// A sequence of 40 tokens, and its hidden states in front of, between and behind the target's two layers.
class MadeHeadsTest : public testing::Test {
 protected:
  using Values = MadeFiles::Values;
  static constexpr std::int64_t kTokens = 40, kPages = 8, kDrafts = 4;

  // `value_dim` is the size of attention values; 0 = that of keys. If it is above 0, the target's layers are random
  // too.
  explicit MadeHeadsTest(std::int64_t value_dim = 0)
      : heads_{kHidden, 16, value_dim},
        checkpoint_(checkpoint::open_checkpoint(Env::system(), kTiny).or_throw()),
        backend_(backend::make_test_backend(2)) {
    files_.copy(*checkpoint_);
    for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
      if (value_dim > 0) add_layer(files_, layer, kHidden, kHidden, true, true, heads_.head_dim, value_dim);
    }
    heads_.add_mtp(files_);
    checkpoint_ =
        checkpoint::open_checkpoint(Env::system(), files_.write("mtp", made_config("MiMoForCausalLM", kHidden, 2)))
            .or_throw();
    model::ModelSpec spec = model::make_spec(*checkpoint_).or_throw();
    for (model::LayerSpec& layer : spec.layers) layer.get<model::AttentionParams>().value_dim = value_dim;
    target_ = std::make_unique<model::Transformer>(*checkpoint_, std::move(spec), *backend_,
                                                   model::ModelOptions{.max_length = 64});
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < kTokens; ++i) tokens_.push_back(static_cast<std::int32_t>(3 + random() % 61));
    for (Values& stream : streams_) {
      stream.resize(static_cast<std::size_t>(kTokens * kHidden));
      for (float& v : stream) v = normal(random);
    }
  }

  DrafterOptions options(const std::string& heads) {
    DrafterOptions options;
    options.heads = heads;
    options.place = {.target = target_.get(),
                     .checkpoint = checkpoint_.get(),
                     .store = nullptr,
                     .backend = backend_.get(),
                     .form = {.encoding = "f32"},
                     .pages = kPages,
                     .precision = backend::MatmulPrecision::kF32};
    return options;
  }
  // Calls the hook as the target does in steps of `chunk` tokens over positions [first, end).
  void show(model::HiddenStateHook& hook, std::int64_t first, std::int64_t end, std::int64_t chunk) {
    for (; first < end; first += chunk) {
      const std::int64_t n = std::min(chunk, end - first);
      model::BatchInput input;
      input.sequences.push_back({0, n, first, pages_});
      for (std::int64_t layer = 0; layer < 3; ++layer) {
        const std::span<const float> stream = streams_[static_cast<std::size_t>(layer)];
        shown_.push_back(backend_->make_vector(
            stream.subspan(static_cast<std::size_t>(first * kHidden), static_cast<std::size_t>(n * kHidden))));
        hook.pass(layer, backend::DeviceView(shown_.back().address(), DType::kF32, {n, kHidden}));
      }
      hook.computed(input);
    }
  }

  // The task of drafting after the first n tokens, as the drafter has completed it.
  Task draft(Drafter& drafter, std::int64_t n, const decode::LogitsPipeline& pipeline,
             std::int64_t further_branches = 0) {
    Task task;
    task.further_branches = further_branches;
    task.tokens = std::span(tokens_).first(static_cast<std::size_t>(n));
    task.most = kDrafts;
    task.pipeline = &pipeline;
    task.pages = pages_;
    task.wants_distributions = true;
    drafter.draft({&task, 1});
    return task;
  }

  RandomHeads heads_;
  MadeFiles files_;  // of the target
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::unique_ptr<backend::Backend> backend_;
  std::unique_ptr<model::Transformer> target_;
  std::vector<backend::DeviceVector> shown_;  // keeps the hidden states that hooks were given
  std::vector<std::int32_t> tokens_;
  std::array<Values, 3> streams_;  // [tokens, hidden]: in front of layers 0 and 1, and behind layer 1
  std::vector<kv::BlockId> pages_ = {5, 2};
};

}  // namespace millrace::draft
