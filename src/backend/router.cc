#include "backend/router.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace millrace::backend {

const Router& find_router(std::string_view name) {
  for (const Router& router : all_routers()) {
    if (router.name == name) return router;
  }
  CHECK(false && "the router is in the table");
  __builtin_unreachable();
}

void choose_experts(const Router& router, const Routing& routing, const float* logits, const float* bias,
                    Choice* out) noexcept {
  bool finite = true;
  for (std::int64_t e = 0; e < routing.experts; ++e) {
    finite = finite && std::isfinite(logits[e]) && (bias == nullptr || std::isfinite(bias[e]));
  }
  if (finite) return router.choose(routing, logits, bias, out);
  for (std::int64_t j = 0; j < routing.chosen; ++j) {
    out[j] = {static_cast<std::int32_t>(j), std::numeric_limits<float>::quiet_NaN()};
  }
}

}  // namespace millrace::backend
