#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "backend/cpu/probe.h"
#include "metrics/statistics.h"

// The JSON report of every `bench` command (docs/bench.md): results, with the program and the machine.

namespace CLI {
class App;
}

namespace millrace::bench {

using Json = nlohmann::ordered_json;

// --json FILE: path of the report; "-" = stdout, which then has no table; empty = no report.
struct ReportFlags {
  std::string json;
  void declare(CLI::App& app);
  // Throws LoadError (kInvalidArgument) naming "json" if the file cannot be written. Creates it if it is absent. Call
  // it before a long measurement.
  void check_writable() const;
  bool table() const noexcept { return json != "-"; }
};

// A report without results: {"schema": "millrace.bench.latency", "schema_version": 1, "millrace": {...}, "machine":
// {...}}.
Json new_report(std::string_view command, int threads, Isa isa);
Json json_of(const metrics::Spread& spread);              // {"median", "min", "max"}
Json json_of(const metrics::Distribution& distribution);  // {"mean", "p50", "p90", "p99", "max"}
// The number of measurements and the spread of each limit; null for a limit that the CPU has no instruction for.
Json json_of(std::span<const backend::cpu::MachineLimits> limits);
Json json_of(const backend::cpu::MachineLimits& limits);

// A line for people: "limits while measuring, median (min-max): read 36.0 (30.1-41.2) GB/s, int8 ..."
std::string describe(std::span<const backend::cpu::MachineLimits> limits);

// Writes the report to the file or stdout that `flags` name. Throws LoadError (kInvalidArgument) naming "json" if the
// file cannot be written.
void write_report(const ReportFlags& flags, const Json& report);

}  // namespace millrace::bench
