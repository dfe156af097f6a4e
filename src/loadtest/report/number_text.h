#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "loadtest/confidence.h"

// RunMetrics as people read them.

namespace millrace::loadtest::report {

// Four significant digits at most, without exponent up to a million: "0.0123", "12.3", "1234"; "1.2e7"; "-" for none.
std::string number_text(double value);
std::string number_text(const std::optional<double>& value);
// "120 [110, 131]"; the value alone where it has no width.
std::string interval_text(const std::optional<Estimate>& estimate);
// "Median TTFT" of "median_ttft_ms"; the name itself where it is none of ours.
std::string metric_label(std::string_view metric);

}  // namespace millrace::loadtest::report
