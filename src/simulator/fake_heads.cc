#include "simulator/fake_heads.h"

#include <algorithm>

#include "base/check.h"
#include "model/blocks/attention.h"
#include "model/shard.h"

namespace millrace::simulator {
namespace {

constexpr std::int64_t kKeyHeads = kFakeQueryHeads / static_cast<std::int64_t>(kReaders);
static_assert(kFakeLayers * kKeyHeads == sizeof(Stamp));

model::ModelSpec fake_spec() {
  model::ModelSpec spec{.vocab_size = 1, .hidden_size = 64};
  model::AttentionParams attention{.heads = kFakeQueryHeads, .kv_heads = kKeyHeads, .head_dim = 16};
  for (std::int64_t layer = 0; layer < kFakeLayers; ++layer) spec.layers.push_back({.blocks = {attention}});
  return spec;
}

FakeHeads heads_of(const model::Shards& shards, int rank) {
  FakeHeads heads;
  const auto layers = shards.layers(rank);
  for (std::int64_t layer = layers.first; layer < layers.last; ++layer) {
    const auto queries = shards.query_heads(kFakeQueryHeads, layer, rank);
    const auto keys = shards.key_heads(kFakeQueryHeads, static_cast<std::int64_t>(kReaders), layer, rank);
    for (std::int64_t key = keys.first; key < keys.last; ++key) {
      const auto byte = static_cast<std::size_t>(layer * kKeyHeads + key);
      heads.bytes.push_back(byte);
      std::int64_t readers = 0;
      for (std::int64_t query = queries.first; query < queries.last; ++query) {
        readers += query / static_cast<std::int64_t>(kReaders) == key ? 1 : 0;
      }
      CHECK(readers == 1 || readers == 2);
      (readers == 1 ? heads.once : heads.twice) |= Stamp{0xff} << (8 * byte);
    }
  }
  return heads;
}

}  // namespace

std::vector<FakeHeads> heads_of_ranks(const RankShape& shape) {
  std::vector<double> shares = shape.shares;
  if (shares.empty()) shares.assign(static_cast<std::size_t>(shape.tensor), 1.0);
  const model::Shards shards = model::Shards::make(fake_spec(), shares, shape.stages).or_throw();
  std::vector<FakeHeads> all;
  for (int rank = 0; rank < shards.ranks(); ++rank) all.push_back(heads_of(shards, rank));
  return all;
}

std::size_t slot_bytes(const RankShape& shape) {
  std::size_t bytes = 0;
  for (const FakeHeads& heads : heads_of_ranks(shape)) bytes += heads.bytes.size();
  return bytes;
}

}  // namespace millrace::simulator
