#pragma once

#include <cstdint>

namespace millrace::model {

// What the rows of a step, or of several, chose in mixtures of experts: sums over the layers that are mixtures.
struct ExpertUse {
  std::int64_t layers = 0;   // how many ran; 0: the model has none
  std::int64_t experts = 0;  // that they have
  std::int64_t touched = 0;  // that at least one row chose
  std::int64_t busiest = 0;  // rows of each layer's most chosen expert
  std::int64_t even = 0;     // rows that it would have if the rows chose all experts alike, rounded up
  double bytes = 0.0;        // weights of the touched experts

  ExpertUse& operator+=(const ExpertUse& other) noexcept {
    layers += other.layers, experts += other.experts, touched += other.touched;
    busiest += other.busiest, even += other.even, bytes += other.bytes;
    return *this;
  }
  ExpertUse& operator-=(const ExpertUse& other) noexcept {
    layers -= other.layers, experts -= other.experts, touched -= other.touched;
    busiest -= other.busiest, even -= other.even, bytes -= other.bytes;
    return *this;
  }
  // Experts that a step touches in a layer, on average over layers and steps.
  double touched_per_layer() const noexcept { return ratio(touched, layers); }
  double experts_per_layer() const noexcept { return ratio(experts, layers); }
  // At least 1: how much longer the most chosen expert takes than if the rows chose all alike.
  double imbalance() const noexcept { return ratio(busiest, even); }

 private:
  static double ratio(std::int64_t part, std::int64_t of) noexcept {
    return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
  }
};

template <typename Archive>
void visit_fields(Archive& archive, ExpertUse& u) {
  archive(u.layers, u.experts, u.touched, u.busiest, u.even, u.bytes);
}

}  // namespace millrace::model
