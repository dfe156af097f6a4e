#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/low_rank.h"
#include "model/adapters/adapter_options.h"

namespace millrace::model {

// What a checkpoint of an adapter says of itself, for people.
struct AdapterSummary {
  std::int64_t rank = 0;                             // the greatest
  std::int64_t modules = 0;                          // weights of the model that it changes
  std::string type;                                  // how it is kept: "bf16"
  double error = 0.0;                                // of keeping it so: relative, of all its matrices together
  std::vector<std::int32_t> invocation_tokens = {};  // Adapter::invocation_tokens()
};

// What an adapter was made of, for who reads it again.
struct AdapterOrigin {
  std::string path;
  AdapterOptions options = {};
};

// An adapter of one model in memory: LoRA (arXiv:2106.09685). Of a model that ranks share, what changes this rank's
// rows. Const.
class Adapter {
 public:
  Adapter(std::string key, AdapterSummary summary, std::vector<std::unique_ptr<backend::LowRank>> weights,
          AdapterOrigin origin = {})
      : key_(std::move(key)), summary_(std::move(summary)), weights_(std::move(weights)), origin_(std::move(origin)) {
    for (const auto& of_place : weights_) bytes_ += of_place == nullptr ? 0 : of_place->packed_bytes();
  }

  // Its number: no other adapter of this process has, or had, the same.
  std::uint64_t id() const noexcept { return id_; }
  // SHA-256 of all that decides what it computes with its base, its name not included. The same on all ranks.
  const std::string& key() const noexcept { return key_; }
  const AdapterSummary& summary() const noexcept { return summary_; }
  const AdapterOrigin& origin() const noexcept { return origin_; }
  // Ends with it.
  std::weak_ptr<const void> life() const noexcept { return life_; }
  std::size_t bytes() const noexcept { return bytes_; }
  // With activated LoRA, arXiv:2504.12397, the adapter is meant for the tokens from where these begin in a prompt for
  // the last time. Empty: for all.
  const std::vector<std::int32_t>& invocation_tokens() const noexcept { return summary_.invocation_tokens; }
  // What it adds to the product of that place; null: nothing.
  const backend::LowRank* weights(std::int64_t place) const noexcept {
    return weights_[static_cast<std::size_t>(place)].get();
  }

 private:
  static std::uint64_t next_id() noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t id_ = next_id();
  std::string key_;
  AdapterSummary summary_;
  std::vector<std::unique_ptr<backend::LowRank>> weights_;
  AdapterOrigin origin_;
  std::shared_ptr<const void> life_ = std::make_shared<char>();
  std::size_t bytes_ = 0;
};

}  // namespace millrace::model
