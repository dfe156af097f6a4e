#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "backend/cpu/probe.h"
#include "metrics/statistics.h"

// The JSON that every `bench` command writes (docs/bench.md): which program measured what on which machine.

namespace CLI {
class App;
}

namespace millrace::bench {

using Json = nlohmann::ordered_json;

// --json FILE: where the report goes; "-" = stdout, which then carries nothing else.
struct ReportFlags {
  std::string json;
  void declare(CLI::App& app);
  // Before hours of work are measured: throws LoadError where the file cannot be written.
  void check_writable() const;
  bool table() const noexcept { return json != "-"; }
};

// {"schema": "millrace.bench.latency", "schema_version": 1, "millrace": {...}, "machine": {...}}
Json new_report(std::string_view command, int threads, Isa isa);
Json json_of(const metrics::Spread& spread);              // {"median", "min", "max"}
Json json_of(const metrics::Distribution& distribution);  // {"mean", "p50", "p90", "p99", "max"}
// Spread of each limit over the measurements; null where there is no instruction.
Json json_of(std::span<const backend::cpu::MachineLimits> limits);
Json json_of(const backend::cpu::MachineLimits& limits);

// One line for people: "limits while measuring: read 30.1-41.2 GB/s, int8 940 GOP/s, ..."
std::string describe(std::span<const backend::cpu::MachineLimits> limits);

// Writes the report where the flags say; throws LoadError naming the file.
void write_report(const ReportFlags& flags, const Json& report);

}  // namespace millrace::bench
