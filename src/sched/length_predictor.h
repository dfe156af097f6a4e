#pragma once

#include <cstdint>
#include <memory>

namespace millrace::sched {

// How many tokens an answer will have. Replaceable: the engine asks once at arrival, and again when an answer outgrew
// what was said.
class LengthPredictor {
 public:
  virtual ~LengthPredictor() = default;
  // In (produced, max_tokens]. `hint` is what the request itself says, 0 = nothing.
  virtual std::int64_t predict(std::uint32_t tenant, std::int64_t prompt_tokens, std::int64_t produced,
                               std::int64_t max_tokens, std::int64_t hint) const = 0;
  virtual void observe(std::uint32_t tenant, std::int64_t output_tokens) = 0;  // of an answer that ended by itself
};

// The quantile of the tenant's last answers that are longer than what is produced already; of all tenants' where it has
// few; max_tokens before anything is known. Bounded memory whatever number of tenants.
std::unique_ptr<LengthPredictor> make_quantile_predictor(double quantile = 0.9);

}  // namespace millrace::sched
