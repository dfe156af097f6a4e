#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace millrace::model {

// The param of an Error where weights have changed.
inline constexpr const char* kDamage = "weights";

// Weights of this process are not what was loaded, and so nothing is that it computes. Not a LoadError: where those are
// handled work goes on, and this one has to end it.
class DamagedWeights : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Compares the packed weights of a model with the checksums that they had when they were loaded, again and again, some
// after each step. No answer of ranks to each other shows such damage: each number comes from one rank, so that all
// agree on a wrong one. A round takes `round_ms` of steps, or longer where it would take more than kShare of their
// time. One thread.
class WeightWalk {
 public:
  static constexpr double kRoundMs = 10'000.0, kShare = 0.005;

  // Backend and weights must outlive it. `model` is for what damage() says.
  WeightWalk(backend::Backend& backend, const std::vector<const backend::Linear*>& weights, std::string model,
             double round_ms = kRoundMs);

  // After a step that took so long, when nothing is recorded.
  void after_step(double ms);
  // One line naming the weight that has changed and the model; empty: none has. Then the walk goes no further.
  const std::string& damage() const noexcept { return damage_; }
  // How many rounds are complete; 0 for ever on a device without checksums.
  std::int64_t rounds() const noexcept { return rounds_; }

 private:
  struct Part {
    const backend::Linear* weight;
    std::size_t number;
  };
  void look_at(std::size_t parts);

  backend::Backend& backend_;
  std::string model_;
  double round_ms_;
  std::vector<Part> parts_;
  std::size_t next_ = 0, at_once_ = 0;
  double due_ = 0.0;         // parts
  double allowed_ms_ = 0.0;  // negative: it has taken more
  std::int64_t rounds_ = 0;
  std::string damage_;
};

}  // namespace millrace::model
