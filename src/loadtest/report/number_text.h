#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "loadtest/confidence.h"

// Numbers and names of metrics as text for people.

namespace millrace::loadtest::report {

// At most four significant digits, without exponent up to a million: "0.0123", "12.3", "1234"; "1.2e7"; "-" for an
// absent value.
std::string number_text(double value);
std::string number_text(const std::optional<double>& value);
// "120 [110, 131]"; only the value if the interval has no width.
std::string interval_text(const std::optional<Estimate>& estimate);
// "Median TTFT" for "median_ttft_ms"; the name itself if it is unknown.
std::string metric_label(std::string_view metric);

}  // namespace millrace::loadtest::report
