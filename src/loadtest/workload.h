#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/token_range.h"

namespace millrace::loadtest {

// What a user says next, after all that was said before in the session.
struct Turn {
  // Appended to the prompt: token ids (exact, for /v1/completions), or text. One of them is empty.
  std::vector<std::int32_t> ids;
  std::string text;
  std::int64_t output_tokens = 1;  // max_tokens
  double pause_s = 0.0;            // after the end of the answer before, at least
  std::string model;               // whom to ask (an adapter); "" = as the others
  std::string fields;              // more members of the request: R"("response_format":{...})", or ""
};

// One user: turns in order, each sent when the answer before it has ended. A single request is a session of one turn.
struct Session {
  std::vector<Turn> turns;  // at least one
};

// What is asked. Thread-safe; session i depends on the options and i alone, however many there are.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Session session(std::uint64_t index) const = 0;
  // When session i begins, in seconds of the workload's own time where it has one (a trace). Costs no prompt.
  virtual std::optional<double> start_s(std::uint64_t) const { return std::nullopt; }
  // How many there are; none = no end.
  virtual std::optional<std::uint64_t> sessions() const { return std::nullopt; }
};

using MadeWorkload = Result<std::unique_ptr<Workload>>;

// What the makers of workloads choose from; each reads what concerns it.
struct WorkloadOptions {
  std::uint64_t seed = 0;
  metrics::TokenRange input{128, 128}, output{64, 64};
  std::int64_t prefix_tokens = 0;  // shared by those of one prefix
  std::int64_t prefixes = 1;       // how many shared ones there are
  std::int64_t turns = 1;
  double pause_s = 0.0;             // think time between turns
  std::string path;                 // of a data set or trace
  std::vector<std::string> models;  // adapters to mix
  double trace_speed = 1.0;         // 2 = twice as fast as recorded
  // Ids are below; 0 = unknown, or the endpoint takes none: prompts are text.
  std::int64_t vocabulary = 0;
};

// A file of workloads/, found by CMake.
struct WorkloadKind {
  std::string_view name, summary;
  // Prompts that mean something: answers end by themselves, and their length says something about the model.
  bool meaningful = false;
  MadeWorkload (*make)(const WorkloadOptions& options);
};
std::span<const WorkloadKind> all_workloads();  // generated

// Null where there is none of that name.
const WorkloadKind* find_workload(std::string_view name) noexcept;
// kInvalidArgument listing the names there are.
MadeWorkload make_workload(std::string_view name, const WorkloadOptions& options);

}  // namespace millrace::loadtest
