#pragma once

#include "loadtest/report/json.h"
#include "loadtest/report/run_facts.h"

namespace millrace::loadtest::report {

// `requests` of docs/bench_reports.md: a list, one a request, warm-up too.
Json requests_json(const RunFacts& facts);

// vLLM's lists with one entry a request that counts, in the order of sending, into the report: `input_lens`,
// `output_lens`, `ttfts`, `itls`, `start_times`, `errors`. `start_times` are when requests were due, so that
// start + ttft is the first token's time, as vLLM's plots have it. A request that failed has ttft 0 and no gaps, as
// there.
void add_vllm_lists(const LoadRun& run, Json& report);

}  // namespace millrace::loadtest::report
