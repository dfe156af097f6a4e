#include "loadtest/report/json.h"

#include <cmath>

#include "base/old_names.h"

namespace millrace::loadtest::report {

Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json text_json(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json json_of(const std::optional<double>& value) { return value ? json_of(*value) : Json(nullptr); }

Json json_of(const Estimate& estimate) {
  return {{"value", json_of(estimate.value)}, {"low", json_of(estimate.low)}, {"high", json_of(estimate.high)}};
}

Json json_of(const Slo& slo) {
  Json out = Json::object();
  if (slo.ttft_ms > 0.0) out["ttft_ms"] = slo.ttft_ms;
  if (slo.tpot_ms > 0.0) out["tpot_ms"] = slo.tpot_ms;
  if (slo.latency_ms > 0.0) out["e2el_ms"] = slo.latency_ms;
  return out;
}

Json json_of(const RunMetrics::Goodput& goodput) {
  return {{"slo", json_of(goodput.slo)},
          {"share", json_of(goodput.share)},
          {"requests_s", json_of(goodput.requests_s)},
          {"tokens_s", json_of(goodput.tokens_s)}};
}

Json json_of(const Interference& noise) {
  Json frequency = nullptr;
  if (noise.frequency_mhz) {
    frequency = {
        {"min", noise.frequency_mhz->min}, {"median", noise.frequency_mhz->median}, {"max", noise.frequency_mhz->max}};
  }
  return {{"steal_percent", json_of(noise.steal_percent)},
          {"other_cpu_percent", json_of(noise.other_cpu_percent)},
          {"load_average", json_of(noise.load_average)},
          {"frequency_mhz", std::move(frequency)},
          {"throttled_s", json_of(noise.throttled_s)},
          {"read_gb_s_before", json_of(noise.read_gb_s_before)},
          {"read_gb_s_after", json_of(noise.read_gb_s_after)},
          {"verdict", noise.verdict()},
          {"reasons", noise.reasons}};
}

Json json_of(const Comparison& comparison) {
  Json verdicts = Json::array();
  for (const MetricVerdict& verdict : comparison.verdicts) {
    verdicts.push_back({{"metric", verdict.metric},
                        {"unit", verdict.unit},
                        {"better", verdict.lower_is_better ? "lower" : "higher"},
                        {"a", json_of(verdict.a)},
                        {"b", json_of(verdict.b)},
                        {"ratio", json_of(verdict.ratio)},
                        {"noise_ratio", json_of(verdict.noise_ratio - 1.0)},
                        {"verdict", to_string(verdict.kind)},
                        {"why", verdict.why}});
  }
  return {{"verdicts", std::move(verdicts)},
          {"verdict", to_string(comparison.kind)},
          {"threshold_percent", comparison.threshold_percent}};
}

Json json_of(const MaxGoodput& found, const Slo& slo, double wanted_share) {
  Json tried = Json::array();
  for (const MaxGoodput::Tried& one : found.tried) {
    tried.push_back({{"rate", one.rate}, {"share", json_of(one.share)}, {"met", one.met}});
  }
  return {{"slo", json_of(slo)},
          {"wanted_share", wanted_share},
          {"rate", found.rate ? json_of(*found.rate) : Json(nullptr)},
          {"settled", found.settled},
          {"tried", std::move(tried)}};
}

Json json_of(const Knee& knee, std::string_view label) { return {{"label", label}, {"x", knee.x}, {"why", knee.why}}; }

const Json& member(const Json& object, std::string_view name) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  if (const auto found = object.find(std::string(name)); found != object.end()) return *found;
  for (const OldName& one : all_old_names()) {
    if (one.kind != OldName::Kind::kMember || one.now != name) continue;
    if (const auto found = object.find(std::string(one.old)); found != object.end()) return *found;
  }
  return kNone;
}

std::optional<double> number(const Json& object, std::string_view name) {
  const Json& value = member(object, name);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string text(const Json& object, std::string_view name) {
  const Json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<Estimate> estimate(const Json& object, std::string_view name) {
  const Json& found = member(object, name);
  const auto value = number(found, "value");
  if (!value) return std::nullopt;
  return Estimate{*value, number(found, "low").value_or(*value), number(found, "high").value_or(*value)};
}

}  // namespace millrace::loadtest::report
