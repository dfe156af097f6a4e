#pragma once

#include <chrono>
#include <cstdint>

#include "server/model_host.h"
#include "server/observers.h"

namespace millrace::bench {

struct InstantConfig {
  std::int64_t max_sequences = 256;   // running at once
  std::chrono::milliseconds step{0};  // how long each step sleeps, as if it computed
};

// A model that computes nothing: its logits are constants, its pages hold no keys and values. What a server costs when
// the model costs nothing. Prompts come as token ids below simulator::kLetters; answers are one letter a token.
// `observers` must outlive the model.
server::ModelEntry instant_model(const InstantConfig& config, server::Observers& observers);

}  // namespace millrace::bench
