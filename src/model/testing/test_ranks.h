#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/testing/test_backend.h"
#include "comm/transports/shm.h"
#include "model/adapters/load_adapter.h"
#include "model/make_spec.h"
#include "model/ranks/rank_follower.h"
#include "model/ranks/rank_leader.h"
#include "model/ranks/transformer_part.h"

namespace millrace::model {

// For tests: reads an adapter for a model, or makes one that no file has.
using ReadTestAdapter = std::function<std::shared_ptr<const Adapter>(
    const AdapterLoader& loader, const Transformer& model, backend::Backend& backend, const std::string& path,
    const AdapterOptions& options)>;

// For tests: one of the ranks behind rank 0 of the model of that path, to the end. It reads adapters of files, if
// nothing else is said. `prepare` gets its model.
inline void follow_rank(const std::string& path, const std::shared_ptr<comm::Communicator>& group, ModelOptions options,
                        int threads = 1, const std::string& isa = "",
                        const std::function<ModelSpec(ModelSpec)>& change = std::identity(),
                        const ReadTestAdapter& read = {}, const std::function<void(const Transformer&)>& prepare = {}) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  const auto backend = backend::make_test_backend(threads, isa, group);
  options.group = group;
  Transformer model(*checkpoint, change(make_spec(*checkpoint).or_throw()), *backend, options);
  if (prepare) prepare(model);
  const AdapterLoader loader(*checkpoint, model, *backend);
  TransformerPart part(model, *backend);
  RankFollower(*group, part, [&](const std::string& adapter, const AdapterOptions& as) {
    return read ? read(loader, model, *backend, adapter, as) : loader.load(Env::system(), adapter, as);
  }).run();
}

// For tests: the ranks behind rank 0 of a model, as threads of this process. As many in each stage as the environment
// variable MILLRACE_TEST_RANKS says, a number or shares such as 1:2, and as many stages as MILLRACE_TEST_STAGES, no
// more than the model allows; 1 without it. Must outlive the model of rank 0, whose leader ends them.
class TestRanks {
 public:
  using Change = std::function<ModelSpec(ModelSpec)>;

  TestRanks(const std::string& path, std::int64_t max_length, const Change& change, const ReadTestAdapter& read = {}) {
    std::vector<double> shares = asked_shares();
    const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
    const ModelSpec spec = change(make_spec(*checkpoint).or_throw());
    const int stages = std::min(number(std::getenv("MILLRACE_TEST_STAGES")), static_cast<int>(std::ssize(spec.layers)));
    while (shares.size() > 1 && !Shards::make(spec, shares)) shares.pop_back();
    const auto ranks = static_cast<int>(shares.size());
    if (ranks * stages <= 1) return;
    shards_ = std::make_shared<Shards>(Shards::make(spec, shares, stages).or_throw());
    const comm::ShmSegment segment =
        comm::ShmSegment::make({.stage_ranks = ranks, .stages = stages, .memory = 1 << 22}).or_throw();
    for (int rank = 1; rank < ranks * stages; ++rank) {
      threads_.emplace_back([=, this, descriptor = dup(segment.descriptor())] {
        const std::shared_ptr<comm::Communicator> group =
            comm::join_shm(descriptor, rank, std::chrono::seconds(60)).or_throw();
        close(descriptor);
        follow_rank(path, group, {.max_length = max_length, .shards = shards_}, 1, "", change, read);
      });
    }
    group_ = comm::join_shm(segment.descriptor(), 0, std::chrono::seconds(60)).or_throw();
  }

  std::shared_ptr<comm::Communicator> group() const { return group_; }  // of rank 0; null: it is the only one
  std::shared_ptr<const Shards> shards() const { return shards_; }
  std::shared_ptr<RankLeader> leader() const {
    return group_ == nullptr ? nullptr : std::make_shared<RankLeader>(group_);
  }

 private:
  static int number(const char* asked) { return asked == nullptr ? 1 : std::atoi(asked); }
  static std::vector<double> asked_shares() {
    const char* asked = std::getenv("MILLRACE_TEST_RANKS");
    if (asked == nullptr || std::strchr(asked, ':') == nullptr) {
      return std::vector<double>(static_cast<std::size_t>(number(asked)), 1.0);
    }
    std::vector<double> shares = {std::atof(asked)};
    while ((asked = std::strchr(asked, ':')) != nullptr) shares.push_back(std::atof(++asked));
    return shares;
  }

  std::shared_ptr<const Shards> shards_;
  std::shared_ptr<comm::Communicator> group_;
  std::vector<std::jthread> threads_;
};

}  // namespace millrace::model
