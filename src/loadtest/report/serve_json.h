#pragma once

#include "loadtest/report/json.h"
#include "loadtest/report/run_facts.h"

namespace millrace::loadtest::report {

// The report of one run as docs/bench_reports.md has it, without what belongs to the program and its machine (`schema`,
// `millrace`, `machine`, `command`, `date`). The keys of `vllm bench serve` come first. Memory: about that of the run.
Json serve_json(const RunFacts& facts);

}  // namespace millrace::loadtest::report
