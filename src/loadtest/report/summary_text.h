#pragma once

#include <string>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

// What `bench serve` prints at its end: the blocks of `vllm bench serve` in its order, with the 95 % interval beside
// what has one, then goodput, client, server and noise. From the report of serve_json().
std::string summary_text(const Json& report);

}  // namespace millrace::loadtest::report
