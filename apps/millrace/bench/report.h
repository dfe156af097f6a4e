#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "backend/cpu/probe.h"
#include "metrics/statistics.h"

// The JSON report of every `bench` command (docs/bench.md): program, machine and measurements.

namespace CLI {
class App;
}

namespace millrace::bench {

using Json = nlohmann::ordered_json;

// --json FILE: the file of the report; "-" = stdout, which then has no other output.
struct ReportFlags {
  std::string json;
  void declare(CLI::App& app);
  // Throws LoadError if the file cannot be written. Call it before measuring.
  void check_writable() const;
  bool table() const noexcept { return json != "-"; }
};

// {"schema": "millrace.bench.latency", "schema_version": 1, "millrace": {...}, "machine": {...}}
Json new_report(std::string_view command, int threads, Isa isa);
Json json_of(const metrics::Spread& spread);              // {"median", "min", "max"}
Json json_of(const metrics::Distribution& distribution);  // {"mean", "p50", "p90", "p99", "max"}
// The spread of each limit over the measurements; null for instructions that the CPU lacks.
Json json_of(std::span<const backend::cpu::MachineLimits> limits);
Json json_of(const backend::cpu::MachineLimits& limits);

// One line for people: "limits while measuring: read 30.1-41.2 GB/s, int8 940 GOP/s, ..."
std::string describe(std::span<const backend::cpu::MachineLimits> limits);

// Writes the report to the file of the flags; throws LoadError naming it.
void write_report(const ReportFlags& flags, const Json& report);

}  // namespace millrace::bench
