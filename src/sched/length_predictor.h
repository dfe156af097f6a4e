#pragma once

#include <cstdint>
#include <memory>

namespace millrace::sched {

// Predicts how many tokens an answer will have. The engine calls predict() when a request arrives, and again when the
// answer has grown longer than predicted. Engine thread only.
class LengthPredictor {
 public:
  virtual ~LengthPredictor() = default;
  // The predicted number of tokens, in (produced, max_tokens]. `produced` is the number of tokens the answer has so
  // far; `hint` is the length that the request itself names, 0 = none.
  virtual std::int64_t predict(std::uint32_t tenant, std::int64_t prompt_tokens, std::int64_t produced,
                               std::int64_t max_tokens, std::int64_t hint) const = 0;
  // Records the length of an answer that ended with a stop token.
  virtual void observe(std::uint32_t tenant, std::int64_t output_tokens) = 0;
};

// Predicts a quantile of the lengths of the tenant's recent answers that are longer than `produced`. With too few of
// these it takes the recent answers of all tenants, and without any answer max_tokens. Memory is bounded, whatever the
// number of tenants.
std::unique_ptr<LengthPredictor> make_quantile_predictor(double quantile = 0.9);

}  // namespace millrace::sched
