#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/env.h"
#include "loadtest/report/run_facts.h"
#include "loadtest/request_record.h"

namespace millrace::loadtest {

// What a server's trace of steps (`millrace serve --trace-file`) says of the time of a run.
struct StepTimeline {
  report::StepSamples steps;
  report::RequestPhases phases;
};

// Reads a trace that this machine's server wrote, or is still writing: an array of events that may end anywhere. Steps
// and phases from `started` on, `seconds` long. kBadFile where it is none, or says not where its clock begins.
Result<StepTimeline> read_step_timeline(std::string_view trace, TimePoint started, double seconds,
                                        std::span<const RequestRecord> records);

}  // namespace millrace::loadtest
