#include "service_advice.h"

#include <fmt/core.h>

#include <algorithm>

namespace millrace::app {
namespace {

constexpr double kFull = 0.95;    // share of pages in use from which on memory holds requests back
constexpr double kBehind = 1.25;  // times that serving takes longer than the load: it arrives faster than it is served
constexpr double kMinSeconds = 1.0;  // of a load, to say so
constexpr double kGood = 0.95;       // of requests that should meet an objective

std::string limit(const PolicyOutcome& best, bool objective) {
  if (best.rejected > 0)
    return fmt::format("{} requests were rejected: they need more --kv-cache-tokens", best.rejected);
  if (best.preemptions > 0 || best.kv_peak > kFull) {
    return fmt::format("the KV cache is full ({:.0f} %, {} preemptions): more --kv-cache-tokens would help",
                       100.0 * best.kv_peak, best.preemptions);
  }
  if (best.load_seconds > kMinSeconds && best.served_seconds > kBehind * best.load_seconds) {
    return fmt::format(
        "requests arrive faster than this machine serves them ({:.0f} s of load take {:.0f} s): lower the "
        "rate, or take a smaller or further quantized model",
        best.load_seconds, best.served_seconds);
  }
  if (objective && best.good_share < kGood) return "what is missing is speed: lower the rate, or relax the objective";
  return fmt::format("the machine keeps up, with at most {:.0f} % of the KV cache in use", 100.0 * best.kv_peak);
}

}  // namespace

std::string advice(const std::vector<PolicyOutcome>& outcomes, bool objective) {
  const auto better = [&](const PolicyOutcome& a, const PolicyOutcome& b) {
    if (a.rejected != b.rejected) return a.rejected < b.rejected;
    if (objective && a.good_share != b.good_share) return a.good_share > b.good_share;
    return a.latency_p99 < b.latency_p99;
  };
  const PolicyOutcome& best = *std::ranges::min_element(outcomes, better);
  std::string text = fmt::format("Use --scheduling-policy {}: ", best.policy);
  text += objective ? fmt::format("{:.0f} % of the requests meet the objective", 100.0 * best.good_share)
                    : fmt::format("99 % of the requests end within {:.1f} s", best.latency_p99 / 1e3);
  if (outcomes.size() == 1) text += fmt::format(", with first tokens within {:.0f} ms (p99)", best.ttft_p99);
  return text + fmt::format("; {}.", limit(best, objective));
}

}  // namespace millrace::app
