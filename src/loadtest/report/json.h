#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "loadtest/comparison.h"
#include "loadtest/confidence.h"
#include "loadtest/interference.h"
#include "loadtest/knee.h"
#include "loadtest/max_goodput.h"
#include "loadtest/run_metrics.h"

namespace millrace::loadtest::report {

using Json = nlohmann::ordered_json;

// JSON in the form of docs/bench_reports.md. An absent value, and NaN, is null.
Json json_of(double value);
Json text_json(const std::string& text);  // null if empty
Json json_of(const std::optional<double>& value);
Json json_of(const Estimate& estimate);            // {"value", "low", "high"}
Json json_of(const Slo& slo);                      // {"ttft_ms", ...} with the set limits
Json json_of(const RunMetrics::Goodput& goodput);  // {"slo", "share", "requests_s", "tokens_s"}
Json json_of(const Interference& noise);
Json json_of(const Comparison& comparison);  // {"verdicts", "verdict", "threshold_percent"}
Json json_of(const MaxGoodput& found, const Slo& slo, double wanted_share);
Json json_of(const Knee& knee, std::string_view label);

// Read fields of a report that may lack any of them: a field that is absent or of another type is absent or empty. A
// member is also found under its former name (base/old_names.h).
const Json& member(const Json& object, std::string_view name);
std::optional<double> number(const Json& object, std::string_view name);
std::string text(const Json& object, std::string_view name);
std::optional<Estimate> estimate(const Json& object, std::string_view name);

}  // namespace millrace::loadtest::report
