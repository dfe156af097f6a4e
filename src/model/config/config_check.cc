#include "model/config/config_check.h"

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "checkpoint/config_view.h"

namespace millrace::model {
namespace {

void check_positive(const std::string& file, std::string_view field, double value) {
  if (std::isfinite(value) && value > 0.0) return;
  throw_load_error(ErrorCode::kBadFile, std::string(field), "{}: {}: expected a positive number, found {}", file, field,
                   value);
}

void check_finite(const std::string& file, std::string_view field, double value) {
  if (std::isfinite(value)) return;
  throw_load_error(ErrorCode::kBadFile, std::string(field), "{}: {}: expected a finite number, found {}", file, field,
                   value);
}

void check_count(const std::string& file, std::string_view field, std::int64_t value, std::int64_t limit) {
  if (value >= 1 && value <= limit) return;
  throw_load_error(ErrorCode::kBadFile, std::string(field), "{}: {}: expected 1 to {}, found {}", file, field, limit,
                   value);
}

void check_factors(const std::string& file, std::string_view field, const std::vector<double>& factors,
                   std::int64_t rotated) {
  if (!factors.empty() && std::ssize(factors) != rotated / 2) {
    throw_load_error(ErrorCode::kBadFile, std::string(field),
                     "{}: {}: {} factors for {} rotated dimensions, expected {}", file, field, factors.size(), rotated,
                     rotated / 2);
  }
  for (const double factor : factors) check_positive(file, field, factor);
}

void check_rope(const std::string& file, const RopeConfig& rope, std::int64_t head_dim) {
  check_count(file, "rotated dimensions", rope.dim, head_dim);
  check_positive(file, "rope theta", rope.theta);
  const RopeScaling& scaling = rope.scaling;
  if (scaling.kind == RopeScaling::Kind::kNone) return;
  check_positive(file, "rope scaling factor", scaling.factor);
  if (scaling.original_context != 0)
    check_count(file, "rope scaling original context", scaling.original_context, checkpoint::kMaxCount);
  check_positive(file, "rope scaling low_freq_factor", scaling.low_freq_factor);
  check_positive(file, "rope scaling high_freq_factor", scaling.high_freq_factor);
  check_positive(file, "rope scaling beta_fast", scaling.beta_fast);
  check_positive(file, "rope scaling beta_slow", scaling.beta_slow);
  if (scaling.attention_factor) check_positive(file, "rope scaling attention factor", *scaling.attention_factor);
  if (scaling.mscale) check_finite(file, "rope scaling mscale", *scaling.mscale);
  if (scaling.mscale_all_dim) check_finite(file, "rope scaling mscale_all_dim", *scaling.mscale_all_dim);
  if (scaling.alpha != 0.0) check_positive(file, "rope scaling alpha", scaling.alpha);
  check_factors(file, "rope scaling short_factor", scaling.short_factors, rope.dim);
  check_factors(file, "rope scaling long_factor", scaling.long_factors, rope.dim);
}

}  // namespace

void check_model_config(const std::string& file, const ModelConfig& config) {
  check_rope(file, config.rope, config.head_dim);
  if (config.sliding_rope) check_rope(file, *config.sliding_rope, config.head_dim);
  const bool uniform = config.layer_heads.empty() && config.layer_kv_heads.empty();  // else each block checks its own
  if (uniform && config.n_heads % config.n_kv_heads != 0) {
    throw_load_error(ErrorCode::kBadFile, "attention head count",
                     "{}: {} attention heads are not a multiple of {} key-value heads", file, config.n_heads,
                     config.n_kv_heads);
  }
  const auto windows = static_cast<std::int64_t>(config.layer_uses_window.size());
  if (windows != 0 && windows != config.n_layers) {
    throw_load_error(ErrorCode::kBadFile, "layer types", "{}: {} layer types for {} layers", file, windows,
                     config.n_layers);
  }
}

}  // namespace millrace::model
