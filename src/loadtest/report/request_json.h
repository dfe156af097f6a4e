#pragma once

#include "loadtest/report/json.h"
#include "loadtest/report/run_facts.h"

namespace millrace::loadtest::report {

// `requests` of docs/bench_reports.md: a list with one entry per request, warm-up included.
Json requests_json(const RunFacts& facts);

// Adds vLLM's lists with one entry per counted request, in order of sending, to the report: `input_lens`,
// `output_lens`, `ttfts`, `itls`, `start_times`, `errors`. `start_times` are when requests were due, so that start +
// ttft is the time of the first token, as vLLM's plots expect. A failed request has ttft 0 and no gaps, as in vLLM.
void add_vllm_lists(const LoadRun& run, Json& report);

}  // namespace millrace::loadtest::report
