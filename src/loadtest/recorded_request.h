#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "loadtest/workload.h"

namespace millrace::loadtest {

// One line of a trace: when a service was asked, and for how much, without what was said.
struct RecordedRequest {
  double at_s = 0.0;  // from the first of the trace
  std::int64_t input_tokens = 1, output_tokens = 1;
  std::vector<std::uint64_t> blocks;  // names of the prompt's blocks of kTraceBlock tokens, where recorded
};
inline constexpr std::int64_t kTraceBlock = 512;  // of Mooncake's hash_ids

// How a trace's file is read; lines without a request (one that failed) are left out. kBadFile naming what is wrong.
using TraceReader = Result<std::vector<RecordedRequest>>(std::string_view path, std::string_view text);

// Requests whose lengths and times are those of `recorded`, in their order, `options.trace_speed` times as fast;
// prompts as PromptSource makes them, equal where the recorded blocks are. The file is `options.path`, which `dataset`
// needs: kInvalidArgument where none is named or there is no request in it.
MadeWorkload replay_file(const WorkloadOptions& options, std::string_view dataset, TraceReader& read);

// The file `options.path`, which `dataset` needs; kInvalidArgument where none is named, kBadFile where it cannot be
// read.
Result<std::string> read_dataset(const WorkloadOptions& options, std::string_view dataset);

// A number of a trace that is finite and at least 0; kBadFile naming file and field.
Result<double> trace_number(std::string_view path, std::string_view field, std::string_view text);

// A trace in CSV with one column each for the time, prompt tokens and answer tokens; a request without tokens of either
// is one that failed. `seconds` reads a time; kBadFile naming what is wrong.
struct CsvTrace {
  std::string_view time, input, output;  // names of columns
  Result<double> (*seconds)(std::string_view path, std::string_view field, const std::string& text);
};
Result<std::vector<RecordedRequest>> read_csv_trace(const CsvTrace& trace, std::string_view path,
                                                    std::string_view text);

}  // namespace millrace::loadtest
