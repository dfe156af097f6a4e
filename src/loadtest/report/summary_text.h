#pragma once

#include <string>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// The final output of `bench serve`, from the report of serve_json(): the blocks of `vllm bench serve` in its order,
// with 95 % intervals, then goodput, client, server and interference.
std::string summary_text(const Json& report);

}  // namespace millrace::loadtest::report
