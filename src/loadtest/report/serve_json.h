#pragma once

#include "loadtest/report/json.h"
#include "loadtest/report/run_facts.h"

namespace millrace::loadtest::report {

// The report of one run in the form of docs/bench_reports.md, without the fields of the program and its machine
// (`schema`, `millrace`, `machine`, `command`, `date`). The keys of `vllm bench serve` come first. Takes about as much
// memory as the run.
Json serve_json(const RunFacts& facts);

}  // namespace millrace::loadtest::report
