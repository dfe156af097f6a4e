#pragma once

// For tests: models that ranks share, each rank a thread of this process.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/testing/rank_threads.h"
#include "model/testing/runner.h"
#include "model/testing/test_ranks.h"

namespace millrace::model {

struct Ranks {
  std::vector<double> shares;  // of the ranks of a stage
  int stages = 1;
  std::vector<std::string> isas = {};                              // of each; empty: the best
  std::vector<int> threads = {};                                   // of each; empty: 1
  std::function<void(int rank, const Transformer&)> prepare = {};  // gets each rank's model
};

using WrapCommunicator = std::function<std::shared_ptr<comm::Communicator>(std::shared_ptr<comm::Communicator>)>;

// Calls body(runner) as rank 0, while the others follow. `read`: how these read adapters. `wrap`: what each rank's
// communicator becomes; then the others may fail.
template <typename Body>
void run_shared(const std::string& path, TestRunner::Options options, const Ranks& ranks, const Body& body,
                const ReadTestAdapter& read = {}, const WrapCommunicator& wrap = {}) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  options.shards =
      std::make_shared<Shards>(Shards::make(make_spec(*checkpoint).or_throw(), ranks.shares, ranks.stages).or_throw());
  const comm::ShmSegment::Sizes sizes{
      .stage_ranks = static_cast<int>(ranks.shares.size()), .stages = ranks.stages, .memory = 1 << 18};
  comm::run_ranks(sizes, [&](std::shared_ptr<comm::Communicator> group) {
    TestRunner::Options own = options;
    const auto rank = static_cast<std::size_t>(group->rank());
    own.group = wrap ? wrap(std::move(group)) : std::move(group);
    own.threads = ranks.threads.empty() ? 1 : ranks.threads[rank];
    own.isa = ranks.isas.empty() ? "" : ranks.isas[rank];
    if (rank == 0) {
      TestRunner runner(path, own);
      if (ranks.prepare) ranks.prepare(0, runner.transformer());
      body(runner);
    } else {
      try {
        const ModelOptions model{.precision = own.precision,
                                 .max_length = own.max_length,
                                 .shards = own.shards,
                                 .weight_round_ms = own.weight_round_ms};
        follow_rank(path, own.group, model, own.threads, own.isa, std::identity(), read,
                    [&](const Transformer& of_rank) {
                      if (ranks.prepare) ranks.prepare(static_cast<int>(rank), of_rank);
                    });
      } catch (const LoadError& failure) {  // which rank 0 says if nobody meant it
        EXPECT_TRUE(wrap) << failure.what();
      }
    }
  });
}

// As many ranks as the model allows, up to 4.
inline int max_ranks(const std::string& path) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  const ModelSpec spec = make_spec(*checkpoint).or_throw();
  std::size_t ranks = 1;
  while (ranks < 4 && Shards::make(spec, std::vector<double>(ranks + 1, 1.0))) ++ranks;
  return static_cast<int>(ranks);
}

inline std::vector<double> equal_shares(int ranks) { return std::vector<double>(static_cast<std::size_t>(ranks), 1.0); }

}  // namespace millrace::model
