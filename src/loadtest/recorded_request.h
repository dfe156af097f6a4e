#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "loadtest/workload.h"

namespace millrace::loadtest {

// One line of a trace: the time and sizes of a recorded request, without its text.
struct RecordedRequest {
  double at_s = 0.0;  // seconds after the first request of the trace
  std::int64_t input_tokens = 1, output_tokens = 1;
  std::vector<std::uint64_t> blocks;  // ids of the prompt's blocks of kTraceBlock tokens, if recorded
};
inline constexpr std::int64_t kTraceBlock = 512;  // tokens of a block in Mooncake's hash_ids

// Reads a trace file. Lines without a request (one that failed) are left out. kBadFile names the mistake.
using TraceReader = Result<std::vector<RecordedRequest>>(std::string_view path, std::string_view text);

// Requests with the lengths and times of the file `options.path`, in its order, `options.trace_speed` times as fast.
// Prompts are PromptSource's, and equal where the recorded blocks are. kInvalidArgument if no file is named (`dataset`
// needs one), or it has no request.
MadeWorkload replay_file(const WorkloadOptions& options, std::string_view dataset, TraceReader& read);

// The content of the file `options.path`. kInvalidArgument if none is named (`dataset` needs one), kBadFile if it
// cannot be read.
Result<std::string> read_dataset(const WorkloadOptions& options, std::string_view dataset);

// A number of a trace, finite and at least 0; kBadFile names file and field.
Result<double> trace_number(std::string_view path, std::string_view field, std::string_view text);

// A trace in CSV with a column each for time, prompt tokens and answer tokens. A line without one of the counts is a
// failed request. `seconds` parses a time; kBadFile names the mistake.
struct CsvTrace {
  std::string_view time, input, output;  // names of the columns
  Result<double> (*seconds)(std::string_view path, std::string_view field, const std::string& text);
};
Result<std::vector<RecordedRequest>> read_csv_trace(const CsvTrace& trace, std::string_view path,
                                                    std::string_view text);

}  // namespace millrace::loadtest
