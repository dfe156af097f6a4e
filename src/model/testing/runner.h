#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "backend/testing/test_backend.h"
#include "kv/block_table.h"
#include "kv/kv_store.h"
#include "model/make_spec.h"
#include "model/ranks/rank_follower.h"
#include "model/ranks/rank_leader.h"
#include "model/transformer.h"

namespace millrace::model {

// For tests: runs a model on sequences that are cut into steps as the test wants. Its KV cache has 256 pages of 32
// tokens.
class TestRunner {
 public:
  struct Options {
    int threads = 2;
    std::string isa;
    std::string_view kv = "f32";   // encoding
    std::string_view layout = {};  // of its pages; empty: the device's default
    backend::MatmulPrecision precision = backend::MatmulPrecision::kAuto;
    std::int64_t max_length = 0;     // 0 = the model's
    bool rotates_by_length = false;  // each sequence as one of its own length, not of max_length
    LoadQuantization quantization = {};
    std::shared_ptr<comm::Communicator> group = nullptr;  // of which this is rank 0; see follow_rank()
    std::shared_ptr<const Shards> shards = nullptr;       // of the group
    double weight_round_ms = WeightWalk::kRoundMs;
  };

  // `change` may change the spec that the checkpoint's configuration gives. Throws LoadError.
  TestRunner(const std::string& path, const Options& options,
             const std::function<ModelSpec(ModelSpec)>& change = std::identity())
      : TestRunner(checkpoint::open_checkpoint(Env::system(), path).or_throw(), options, change) {}
  TestRunner(std::unique_ptr<checkpoint::Checkpoint> checkpoint, const Options& options,
             const std::function<ModelSpec(ModelSpec)>& change = std::identity())
      : checkpoint_(std::move(checkpoint)),
        backend_(backend::make_test_backend(options.threads, options.isa, options.group)),
        transformer_(*checkpoint_, change(make_spec(*checkpoint_).or_throw()), *backend_,
                     {.precision = options.precision,
                      .max_length = options.max_length,
                      .quantization = options.quantization,
                      .shards = options.shards,
                      .group = options.group,
                      .leader = leader_of(options),
                      .weight_round_ms = options.weight_round_ms}),
        store_(transformer_.make_store({.encoding = options.kv, .layout = options.layout}, kPages).or_throw()),
        rotates_by_length_(options.rotates_by_length) {}

  struct Chunk {
    std::size_t sequence;
    std::int64_t tokens;
  };
  // Computes `sequences` in the given steps, which must cover all tokens in order. Returns the logits of every token,
  // [sequence][token * V + v]. Sequences have at most 4096 tokens.
  std::vector<std::vector<float>> run(const std::vector<std::vector<std::int32_t>>& sequences,
                                      const std::vector<std::vector<Chunk>>& steps) {
    kv::BlockPool pool(kPages);
    std::vector<kv::BlockTable> tables;
    std::vector<std::int64_t> computed(sequences.size(), 0);
    std::vector<std::vector<float>> logits(sequences.size());
    // Sequences reserve pages in turns, so that with several sequences no pages of one are contiguous.
    for (std::size_t s = 0; s < sequences.size(); ++s) tables.emplace_back(pool, 32);
    for (std::int64_t length = 32; length <= 4096; length += 32) {
      for (std::size_t s = 0; s < sequences.size(); ++s) {
        if (length < static_cast<std::int64_t>(sequences[s].size()) + 32) tables[s].reserve(length);
      }
    }
    for (const std::vector<Chunk>& step : steps) {
      BatchInput input;
      for (const Chunk& chunk : step) {
        const auto begin = sequences[chunk.sequence].begin() + computed[chunk.sequence];
        input.sequences.push_back({static_cast<std::int64_t>(input.tokens.size()), chunk.tokens,
                                   computed[chunk.sequence], tables[chunk.sequence].blocks()});
        if (adapter_ != nullptr) {
          const std::int64_t skipped =
              std::clamp<std::int64_t>(adapter_first_ - computed[chunk.sequence], 0, chunk.tokens);
          input.adapters.push_back({std::ssize(input.tokens) + skipped, chunk.tokens - skipped, adapter_});
          if (skipped == chunk.tokens) input.adapters.pop_back();
        }
        input.tokens.insert(input.tokens.end(), begin, begin + chunk.tokens);
        computed[chunk.sequence] += chunk.tokens;
        if (rotates_by_length_) {
          input.rope_lengths.push_back(transformer_.rope_length(std::ssize(sequences[chunk.sequence])));
        }
      }
      for (std::size_t r = 0; r < input.tokens.size(); ++r) input.logit_rows.push_back(static_cast<std::int64_t>(r));
      const TensorView out = transformer_.forward(input, store_);
      std::int64_t row = 0;
      for (const Chunk& chunk : step) {
        for (std::int64_t i = 0; i < chunk.tokens; ++i, ++row) {
          logits[chunk.sequence].insert(logits[chunk.sequence].end(), out.row(row), out.row(row) + out.cols());
        }
      }
    }
    return logits;
  }
  // Computes one sequence in steps of `chunk` tokens; `all` gets the logits and hidden states of all rows, in order.
  void run_into(const std::vector<std::int32_t>& tokens, std::int64_t chunk, LogitsConsumer& all) {
    kv::BlockPool pool(kPages);
    kv::BlockTable table(pool, 32);
    const auto length = static_cast<std::int64_t>(tokens.size());
    table.reserve(length);
    struct Shifted final : LogitsConsumer {
      LogitsConsumer& all;
      std::int64_t done = 0;
      explicit Shifted(LogitsConsumer& to) : all(to) {}
      void take_logits(std::int64_t first, const TensorView& rows) override { all.take_logits(done + first, rows); }
      void take_hidden(std::int64_t first, const TensorView& rows) override { all.take_hidden(done + first, rows); }
    } sink(all);
    for (; sink.done < length; sink.done += chunk) {
      const std::int64_t n = std::min(chunk, length - sink.done);
      BatchInput input;
      input.tokens.assign(tokens.begin() + sink.done, tokens.begin() + sink.done + n);
      input.sequences.push_back({0, n, sink.done, table.blocks()});
      for (std::int64_t r = 0; r < n; ++r) input.scored_rows.push_back(r);
      input.hidden_rows = input.scored_rows;
      input.sink = &sink;
      transformer_.forward(input, store_);
    }
  }
  // The weights of the output layer, [V, E].
  std::vector<float> head() {
    const ModelSpec& spec = transformer_.spec();
    std::vector<float> weights(static_cast<std::size_t>(spec.vocab_size * spec.hidden_size));
    std::vector<std::int32_t> ids(static_cast<std::size_t>(spec.vocab_size));
    std::iota(ids.begin(), ids.end(), 0);
    const backend::DeviceBuffer rows = backend_->allocate(std::span(weights).size_bytes()).or_throw();
    backend_->gather(*transformer_.linears().back(), ids, {}, rows.view(spec.vocab_size, spec.hidden_size));
    backend_->download(rows.address(), std::as_writable_bytes(std::span(weights)));
    return weights;
  }
  // The logits of all tokens of a sequence that is computed in one step, [token * V + v].
  std::vector<float> run_whole(const std::vector<std::int32_t>& tokens) {
    return run({tokens}, {{{0, static_cast<std::int64_t>(tokens.size())}}})[0];
  }

  // The adapter of all rows of run() from now on; null: none. It must outlive the runs.
  // `first`: the first position that goes through it.
  void set_adapter(const Adapter* adapter, std::int64_t first = 0) {
    adapter_ = adapter;
    adapter_first_ = first;
  }

  backend::Backend& backend() { return *backend_; }
  const Transformer& transformer() const { return transformer_; }
  Transformer& transformer() { return transformer_; }
  const checkpoint::Checkpoint& checkpoint() const { return *checkpoint_; }

 private:
  static std::shared_ptr<RankLeader> leader_of(const Options& options) {
    return options.group == nullptr ? nullptr : std::make_shared<RankLeader>(options.group);
  }
  static constexpr std::int32_t kPages = 256;
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::unique_ptr<backend::Backend> backend_;
  Transformer transformer_;
  kv::KvStore store_;
  bool rotates_by_length_;
  const Adapter* adapter_ = nullptr;
  std::int64_t adapter_first_ = 0;
};

}  // namespace millrace::model
