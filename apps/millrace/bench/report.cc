#include "bench/report.h"

#include <fmt/core.h>

#include <cstdio>
#include <fstream>

#include "base/cpu.h"
#include "base/error.h"
#include "bench/table.h"
#include "cli.h"
#include "runtime/build_name.h"

namespace millrace::bench {
namespace {

using backend::cpu::MachineLimits;

struct Limit {
  const char *name, *label, *unit;
  double MachineLimits::* value;
};
constexpr Limit kLimits[] = {{"read_gb_s", "read", "GB/s", &MachineLimits::read_gb_s},
                             {"read_sustained_gb_s", "sustained", "GB/s", &MachineLimits::read_sustained_gb_s},
                             {"f32_gflop_s", "f32", "GFLOP/s", &MachineLimits::f32_gflop_s},
                             {"int8_gop_s", "int8", "GOP/s", &MachineLimits::int8_gop_s},
                             {"bf16_gflop_s", "bf16", "GFLOP/s", &MachineLimits::bf16_gflop_s}};

metrics::Spread spread_of_limit(std::span<const MachineLimits> limits, const Limit& limit) {
  std::vector<double> values;
  for (const MachineLimits& measured : limits) values.push_back(measured.*limit.value);
  return metrics::spread_of(values);
}

}  // namespace

void ReportFlags::declare(CLI::App& app) {
  app.add_option("--json", json, "Write the report as JSON to this file; - = stdout, without the table")
      ->type_name("FILE");
}

void ReportFlags::check_writable() const {
  if (json.empty() || json == "-") return;
  if (!std::ofstream(json, std::ios::app)) {
    throw_load_error(ErrorCode::kInvalidArgument, "json", "{}: cannot be written", json);
  }
}

Json new_report(std::string_view command, int threads, Isa isa) {
  const CpuInfo cpu = cpu_info();
  const std::string commit(runtime::build_commit());
  Json report;
  report["schema"] = "millrace.bench." + std::string(command);
  report["schema_version"] = 1;
  report["millrace"] = {{"version", MILLRACE_VERSION},
                        {"commit", commit.empty() ? Json(nullptr) : Json(commit)},
                        {"build", MILLRACE_BUILD}};
  report["machine"] = {
      {"processor", cpu.model},   {"features", cpu.features},         {"isa", to_string(isa)},
      {"threads", threads},       {"usable_cpus", cpu.logical_cpus},  {"l2_bytes", cpu.l2_bytes},
      {"l3_bytes", cpu.l3_bytes}, {"memory_bytes", cpu.memory_bytes}, {"transparent_huge_pages", cpu.huge_pages}};
  return report;
}

Json json_of(const metrics::Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

Json json_of(const metrics::Distribution& d) {
  return {{"mean", d.mean}, {"p50", d.p50}, {"p90", d.p90}, {"p99", d.p99}, {"max", d.max}};
}

Json json_of(std::span<const MachineLimits> limits) {
  Json out = {{"measurements", limits.size()}};
  for (const Limit& limit : kLimits) {
    const metrics::Spread spread = spread_of_limit(limits, limit);
    out[limit.name] = spread.max > 0.0 ? json_of(spread) : Json(nullptr);
  }
  return out;
}

Json json_of(const MachineLimits& limits) {
  Json out = Json::object();
  for (const Limit& limit : kLimits)
    out[limit.name] = limits.*limit.value > 0.0 ? Json(limits.*limit.value) : Json(nullptr);
  return out;
}

std::string describe(std::span<const MachineLimits> limits) {
  std::string out;
  for (const Limit& limit : kLimits) {
    const metrics::Spread spread = spread_of_limit(limits, limit);
    if (spread.max == 0.0) continue;
    out += fmt::format("{}{} {} ({}-{}) {}", out.empty() ? "" : ", ", limit.label, rounded(spread.median),
                       rounded(spread.min), rounded(spread.max), limit.unit);
  }
  return "limits while measuring, median (min-max): " + out;
}

void write_report(const ReportFlags& flags, const Json& report) {
  if (flags.json.empty()) return;
  const std::string text = report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (flags.json == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream file(flags.json, std::ios::trunc);
  file << text;
  if (!file.flush()) throw_load_error(ErrorCode::kInvalidArgument, "json", "{}: cannot be written", flags.json);
}

}  // namespace millrace::bench
