#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace millrace::model {
namespace {

std::vector<double> plain_frequencies(double theta, std::int64_t dim) {
  std::vector<double> inverse(static_cast<std::size_t>(dim / 2));
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    inverse[i] = 1.0 / std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(dim));
  }
  return inverse;
}

// Low frequencies divided by `factor`, high ones kept, a linear blend between.
void scale_llama3(const RopeScaling& s, double original, std::vector<double>& inverse) {
  for (double& f : inverse) {
    const double wavelength = 2.0 * std::numbers::pi / f;
    if (wavelength > original / s.low_freq_factor) {
      f /= s.factor;
    } else if (wavelength >= original / s.high_freq_factor) {
      const double smooth = (original / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
      f = (1.0 - smooth) * f / s.factor + smooth * f;
    }
  }
}

// The dimension that turns `rotations` times within the original context (yarn, section 3.2).
double correction_dim(double rotations, std::int64_t dim, double theta, double original) {
  return static_cast<double>(dim) * std::log(original / (rotations * 2.0 * std::numbers::pi)) / (2.0 * std::log(theta));
}

void scale_yarn(const RopeScaling& s, double theta, std::int64_t dim, double original, std::vector<double>& inverse) {
  double low = correction_dim(s.beta_fast, dim, theta, original),
         high = correction_dim(s.beta_slow, dim, theta, original);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dim - 1));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    inverse[i] = inverse[i] / s.factor * ramp + inverse[i] * (1.0 - ramp);
  }
}

double yarn_mscale(double factor, double mscale) { return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0; }

double yarn_attention_factor(const RopeScaling& s) {
  if (s.attention_factor) return *s.attention_factor;
  if (s.mscale && s.mscale_all_dim && *s.mscale != 0.0 && *s.mscale_all_dim != 0.0) {
    return yarn_mscale(s.factor, *s.mscale) / yarn_mscale(s.factor, *s.mscale_all_dim);
  }
  return yarn_mscale(s.factor, 1.0);
}

// Dynamic NTK: the base grows with the length beyond the original context, or by a fixed factor.
double dynamic_theta(const RopeScaling& s, double theta, std::int64_t dim, double original, std::int64_t max_length) {
  const double length = std::max(static_cast<double>(max_length), original);
  const double stretch = s.alpha > 0.0 ? s.alpha : s.factor * length / original - (s.factor - 1.0);
  return theta * std::pow(stretch, static_cast<double>(dim) / static_cast<double>(dim - 2));
}

double longrope_attention_factor(const RopeScaling& s, double original, bool beyond) {
  if (const auto magnitude = beyond ? s.long_magnitude : s.short_magnitude) return *magnitude;
  if (s.attention_factor) return *s.attention_factor;
  return s.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(s.factor) / std::log(original));
}

}  // namespace

std::int64_t Rope::length_of(const RopeConfig& config, std::int64_t context_length, std::int64_t length) noexcept {
  const RopeScaling& scaling = config.scaling;
  const std::int64_t original = scaling.original_context > 0 ? scaling.original_context : context_length;
  if (length <= original) return 0;
  if (scaling.kind == RopeScaling::Kind::kLongRope) return original + 1;
  return scaling.kind == RopeScaling::Kind::kDynamic && scaling.alpha == 0.0 ? length : 0;
}

Rope::Rope(const RopeConfig& config, std::int64_t context_length, std::int64_t max_length,
           std::span<const float> factors)
    : dim_(config.dim), inverse_frequency_(plain_frequencies(config.theta, config.dim)) {
  const RopeScaling& scaling = config.scaling;
  const auto original = static_cast<double>(scaling.original_context > 0 ? scaling.original_context : context_length);
  const auto divide = [&](const auto& divisors) {
    for (std::size_t i = 0; i < divisors.size() && i < inverse_frequency_.size(); ++i) {
      inverse_frequency_[i] /= static_cast<double>(divisors[i]);
    }
  };
  switch (scaling.kind) {
    case RopeScaling::Kind::kNone: break;
    case RopeScaling::Kind::kLinear:
      for (double& f : inverse_frequency_) f /= scaling.factor;
      break;
    case RopeScaling::Kind::kDynamic:
      inverse_frequency_ = plain_frequencies(dynamic_theta(scaling, config.theta, dim_, original, max_length), dim_);
      break;
    case RopeScaling::Kind::kYarn:
      scale_yarn(scaling, config.theta, dim_, original, inverse_frequency_);
      attention_factor_ = yarn_attention_factor(scaling);
      break;
    case RopeScaling::Kind::kLlama3: scale_llama3(scaling, original, inverse_frequency_); break;
    case RopeScaling::Kind::kLongRope: {
      const bool beyond = static_cast<double>(max_length) > original;
      divide(beyond ? scaling.long_factors : scaling.short_factors);
      attention_factor_ = longrope_attention_factor(scaling, original, beyond);
      break;
    }
  }
  divide(factors);
  if (config.reversed) {
    for (double& f : inverse_frequency_) f = -f;
  }
}

}  // namespace millrace::model
