#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "loadtest/workload.h"

namespace millrace::loadtest {

// One line of a trace: when somebody asked how much of a service, without what was said.
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

// The columns of `names` of a CSV text with a header, a row a line (RFC 4180 quoting); kBadFile naming the line and the
// column that is missing.
Result<std::vector<std::vector<std::string>>> read_columns(std::string_view path, std::string_view text,
                                                           const std::vector<std::string_view>& names);

}  // namespace millrace::loadtest
