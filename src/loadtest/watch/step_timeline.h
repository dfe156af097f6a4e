#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/env.h"
#include "loadtest/report/run_facts.h"
#include "loadtest/request_record.h"

namespace millrace::loadtest {

// The part of a server's trace of steps (`millrace serve --trace-file`) within the time of a run.
struct StepTimeline {
  report::StepSamples steps;
  report::RequestPhases phases;
};

// Reads a trace of a server on this machine, which may still be writing: an array of events that may end anywhere.
// Returns steps and phases from `started` on for `seconds` seconds. kBadFile if it is no trace, or does not name the
// start of its clock.
Result<StepTimeline> read_step_timeline(std::string_view trace, TimePoint started, double seconds,
                                        std::span<const RequestRecord> records);

}  // namespace millrace::loadtest
