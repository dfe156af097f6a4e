#pragma once

#include <string>

#include "base/error.h"
#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// What a report of one run keeps of an earlier one that it stands beside (docs/bench_reports.md, `earlier`).

// Reads the JSON of an earlier `bench serve`. Errors name `compare-with`: kNotFound, kResourceExhausted above 1 GiB, or
// kBadFile if it is no such report.
Result<Json> read_earlier_run(const std::string& path);

// The member `earlier` for `report`: the estimates of `earlier`, and in words what differs between the two loads.
Json earlier_json(const Json& report, const Json& earlier, const std::string& path);

// The member as lines for the terminal; "" if the report has none.
std::string earlier_text(const Json& report);

}  // namespace millrace::loadtest::report
