#pragma once

#include <optional>

#include "backend/backend.h"
#include "model/block.h"
#include "model/rank_columns.h"

namespace millrace::model {

// The columns that each rank computes of a feed-forward network.
struct FeedForwardColumns {
  RankColumns hidden, output;
};

// Runs the network whole on the backend, or in its parts: where the hidden layer has a norm, and where ranks share it
// and rows have adapters. `space` then has columns for the outputs of `up` and for the hidden layer.
void run_feed_forward(backend::Backend& backend, const backend::Mlp& mlp,
                      const std::optional<backend::Norm>& hidden_norm, const FeedForwardColumns& columns,
                      RowSpace space, const backend::DeviceView& x, const backend::DeviceView& out);

}  // namespace millrace::model
