#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/cpu/probe.h"
#include "backend/device_kind.h"
#include "base/cpu.h"
#include "base/cpu_quota.h"
#include "cli.h"
#include "command.h"
#include "link_speed.h"
#include "machine_advice.h"
#include "model_flags.h"
#include "model_speed.h"

namespace millrace::commands {
namespace {

using backend::cpu::MachineLimits;

// All probes together stay below this, whatever the number of processors.
constexpr double kProbeSeconds = 2.0;
constexpr double kGigabyte = 1e9;

struct DoctorFlags {
  std::string cpu_isa;
  int threads = 0;
  bool json = false;
  std::string model_speed, link_speed;
  int tensor_parallel_size = 1;
};

struct Warning {
  std::string problem, remedy;
};

struct Measured {
  int threads;
  MachineLimits limits;
};

struct Findings {
  CpuInfo cpu;
  int online_cpus = 1;
  double cpu_quota = 0.0;  // processors' worth of time that the control group grants; 0 = no limit
  Isa best = Isa::kScalar, chosen = Isa::kScalar;
  std::vector<Measured> measured;
  std::string model;  // of the default model; empty if it is not there
  std::uintmax_t model_bytes = 0;
  std::vector<Warning> warnings;
};

// 1, 2, 4, ... and `most`.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int n = 1; n < most; n *= 2) counts.push_back(n);
  counts.push_back(most);
  return counts;
}

void find_default_model(Findings& findings) {
  const std::string path = app::default_model_path();
  std::error_code absent;  // then there is nothing to say about it
  const std::uintmax_t bytes = std::filesystem::file_size(path, absent);
  if (absent) return;
  findings.model = path;
  findings.model_bytes = bytes;
}

std::vector<Warning> warnings_about(const Findings& f) {
  std::vector<Warning> warnings;
  if (f.cpu.huge_pages == "never") {
    warnings.push_back({"transparent huge pages are off: weights stream 20-60 % slower from pages of 4 KB",
                        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"});
  }
  if (f.best == Isa::kScalar) {
    warnings.push_back(
        {"only scalar kernels: no AVX2 with FMA in this processor, or a build without vector kernels",
         "build without -DMILLRACE_SCALAR_ONLY=ON; in a virtual machine pass the host's processor through"});
  } else if (f.chosen < f.best) {
    warnings.push_back({fmt::format("kernels of {} are asked for, {} is there", to_string(f.chosen), to_string(f.best)),
                        "unset MILLRACE_CPU_ISA"});
  }
  if (f.cpu.logical_cpus < f.online_cpus) {
    warnings.push_back({fmt::format("this process may use {} of {} processors", f.cpu.logical_cpus, f.online_cpus),
                        "widen its affinity (taskset, cpuset, --cpuset-cpus), or leave it: threads follow it"});
  }
  if (f.cpu_quota > 0.0 && f.cpu_quota < f.cpu.logical_cpus) {
    warnings.push_back(
        {fmt::format("the control group grants the time of {:.1f} processors of {}", f.cpu_quota, f.cpu.logical_cpus),
         fmt::format("raise the quota (--cpus), or leave it: {} threads are used", usable_threads())});
  }
  if (f.model.empty()) {
    warnings.push_back({"the default model is not there, so commands need the name of one",
                        "./dev setup downloads it; or name another: millrace run org/name downloads that one"});
  }
  if (f.model_bytes > static_cast<std::uintmax_t>(f.cpu.memory_available_bytes) && f.cpu.memory_available_bytes > 0) {
    warnings.push_back(
        {"the default model is larger than the memory available", "stop other programs or take a smaller model"});
  }
  return warnings;
}

Findings examine(const DoctorFlags& flags) {
  Findings f;
  f.cpu = cpu_info();
  f.online_cpus = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  f.cpu_quota = cpu_quota();
  f.best = detect_isa();
  f.chosen = choose_isa(flags.cpu_isa).or_throw();
  find_default_model(f);
  const std::vector<int> counts = thread_counts(flags.threads > 0 ? flags.threads : usable_threads());
  const double seconds = kProbeSeconds / (4.0 * static_cast<double>(counts.size()));
  for (const int threads : counts)
    f.measured.push_back({threads, backend::cpu::measure_limits(threads, f.chosen, seconds)});
  f.warnings = warnings_about(f);
  return f;
}

// Tokens a second of one sequence if each reads every weight once at the best bandwidth measured; 0 without a model.
double reachable_tokens_per_second(const Findings& f) {
  double bandwidth = 0.0;
  for (const Measured& m : f.measured) bandwidth = std::max(bandwidth, m.limits.read_gb_s);
  return f.model_bytes == 0 ? 0.0 : bandwidth * kGigabyte / static_cast<double>(f.model_bytes);
}

std::vector<std::string> recommendations(const Findings& f) {
  double best = 0.0;
  for (const Measured& m : f.measured) best = std::max(best, m.limits.read_gb_s);
  return app::machine_advice(static_cast<double>(f.cpu.memory_available_bytes), best);
}

std::string size_text(std::int64_t bytes) {
  if (bytes <= 0) return "unknown";
  const double size = static_cast<double>(bytes);
  if (bytes < (std::int64_t{1} << 20)) return fmt::format("{:.0f} KiB", size / 1024.0);
  if (bytes < (std::int64_t{1} << 30)) return fmt::format("{:.0f} MiB", size / 1048576.0);
  return fmt::format("{:.1f} GiB", size / 1073741824.0);
}

void print_line(std::string_view name, const std::string& value) {
  fmt::print("{:<15}{}\n", name, value.empty() ? "unknown" : value);
}

// A rate of the table; "-" where the processor has no instruction for it.
std::string rate_text(double rate) { return rate > 0.0 ? fmt::format("{:.1f}", rate) : "-"; }

void print_text(const Findings& f) {
  print_line("processor", f.cpu.model);
  print_line("features", f.cpu.features);
  print_line("devices", fmt::format("{}", fmt::join(backend::device_names(), ", ")));
  print_line("kernels", f.chosen == f.best
                            ? std::string(to_string(f.chosen))
                            : fmt::format("{} (forced; best {})", to_string(f.chosen), to_string(f.best)));
  print_line("caches", fmt::format("L1d {}, L2 {} a core, L3 {}", size_text(f.cpu.l1d_bytes), size_text(f.cpu.l2_bytes),
                                   size_text(f.cpu.l3_bytes)));
  print_line("processors", fmt::format("{} usable of {} online{}", f.cpu.logical_cpus, f.online_cpus,
                                       f.cpu_quota > 0.0 ? fmt::format(", quota {:.1f}", f.cpu_quota) : ""));
  print_line("huge pages", f.cpu.huge_pages);
  print_line("memory",
             fmt::format("{}, {} available", size_text(f.cpu.memory_bytes), size_text(f.cpu.memory_available_bytes)));
  fmt::print("\n{:>7}  {:>10}  {:>10}  {:>12}  {:>10}  {:>13}\n", "threads", "read GB/s", "sustained", "f32 GFLOP/s",
             "int8 GOP/s", "bf16 GFLOP/s");
  for (const auto& [threads, limits] : f.measured) {
    fmt::print("{:>7}  {:>10}  {:>10}  {:>12}  {:>10}  {:>13}\n", threads, rate_text(limits.read_gb_s),
               rate_text(limits.read_sustained_gb_s), rate_text(limits.f32_gflop_s), rate_text(limits.int8_gop_s),
               rate_text(limits.bf16_gflop_s));
  }
  fmt::print("\n");
  if (f.model.empty()) {
    fmt::print("default model: not there\n");
  } else {
    fmt::print("default model: {}, {:.1f} MB; at this bandwidth at most {:.0f} tokens a second of one sequence\n",
               f.model, static_cast<double>(f.model_bytes) / 1e6, reachable_tokens_per_second(f));
  }
  for (const std::string& line : recommendations(f)) fmt::print("recommendation: {}\n", line);
  for (const Warning& w : f.warnings) fmt::print("\nwarning: {}\n  remedy: {}\n", w.problem, w.remedy);
  if (f.warnings.empty()) fmt::print("no problems found\n");
}

void print_json(const Findings& f) {
  nlohmann::ordered_json out;
  out["devices"] = backend::device_names();
  out["cpu"] = {
      {"model", f.cpu.model},
      {"features", f.cpu.features},
      {"isa", to_string(f.chosen)},
      {"best_isa", to_string(f.best)},
      {"l1d_bytes", f.cpu.l1d_bytes},
      {"l2_bytes", f.cpu.l2_bytes},
      {"l3_bytes", f.cpu.l3_bytes},
      {"usable_cpus", f.cpu.logical_cpus},
      {"online_cpus", f.online_cpus},
      {"cpu_quota", f.cpu_quota > 0.0 ? nlohmann::ordered_json(f.cpu_quota) : nlohmann::ordered_json(nullptr)}};
  out["memory"] = {{"total_bytes", f.cpu.memory_bytes},
                   {"available_bytes", f.cpu.memory_available_bytes},
                   {"transparent_huge_pages", f.cpu.huge_pages}};
  out["limits"] = nlohmann::ordered_json::array();
  for (const auto& [threads, limits] : f.measured) {
    out["limits"].push_back({{"threads", threads},
                             {"read_gb_s", limits.read_gb_s},
                             {"read_sustained_gb_s", limits.read_sustained_gb_s},
                             {"f32_gflop_s", limits.f32_gflop_s},
                             {"int8_gop_s", limits.int8_gop_s},
                             {"bf16_gflop_s", limits.bf16_gflop_s}});
  }
  out["default_model"] = nullptr;
  if (!f.model.empty()) {
    out["default_model"] = {
        {"path", f.model}, {"bytes", f.model_bytes}, {"reachable_tokens_per_second", reachable_tokens_per_second(f)}};
  }
  out["recommendations"] = recommendations(f);
  out["warnings"] = nlohmann::ordered_json::array();
  for (const Warning& w : f.warnings) out["warnings"].push_back({{"problem", w.problem}, {"remedy", w.remedy}});
  fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// A line every few seconds, or on a terminal one that is written over.
void show_progress(double share) {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  static std::chrono::steady_clock::time_point told{};
  const auto now = std::chrono::steady_clock::now();
  if (now - told < (terminal ? std::chrono::milliseconds(100) : std::chrono::seconds(5))) return;
  told = now;
  fmt::print(stderr, "{}measuring steps: {:.0f} %{}", terminal ? "\r" : "", 100.0 * share, terminal ? "\033[K" : "\n");
  std::fflush(stderr);
}

// The profile goes to stdout, for a file; what it means to stderr, for people.
int print_model_speed(const DoctorFlags& flags) {
  app::ModelFlags model;
  model.model = flags.model_speed;
  model.threads = flags.threads, model.cpu_isa = flags.cpu_isa;
  model.ranks.tensor_parallel_size = flags.tensor_parallel_size;
  const auto speed = app::measure_model_speed(app::load_model(model), model, show_progress);
  if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
  fmt::print("{}\n", app::json_of(speed, flags.model_speed).dump(2));
  std::fflush(stdout);
  for (const std::string& line : app::speed_advice(speed.cost, speed.typical_error, flags.model_speed)) {
    fmt::print(stderr, "{}\n", line);
  }
  return 0;
}

int print_link_speed(const std::string& backend) {
  if (const auto speed = app::measure_link_speed(backend)) fmt::print("{}\n", app::json_of(*speed, backend).dump(2));
  return 0;
}

}  // namespace

app::Command doctor() {
  return {.name = "doctor",
          .summary = "Examine this machine: instruction sets, memory, measured limits, and what to fix",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<DoctorFlags>();
            app.add_option("-t,--threads", flags->threads, "Max threads to measure with; 0 = all processors")
                ->envname("MILLRACE_THREADS")
                ->check(CLI::Range(0, 1024));
            app.add_option("--cpu-isa", flags->cpu_isa,
                           "Instruction set to measure: scalar, avx2, avx_vnni, avx512_vnni or avx512_bf16; default "
                           "the best the CPU has")
                ->envname("MILLRACE_CPU_ISA")
                ->type_name("{scalar,avx2,avx_vnni,avx512_vnni,avx512_bf16}");
            app.add_flag("--json", flags->json, "Print the result as one JSON object");
            app.add_option("--model-speed", flags->model_speed,
                           "Model whose step times to measure instead; prints a profile for `millrace simulate`")
                ->type_name("MODEL");
            app.add_option("--tensor-parallel-size", flags->tensor_parallel_size,
                           "For --model-speed: number of processes that share the model")
                ->check(CLI::Range(1, runtime::kMaxRanks));
            app.add_option("--link-speed", flags->link_speed,
                           "Measure instead how fast ranks exchange rows, for `millrace inspect`: shm, two processes "
                           "of this host, or mpi, those that mpirun starts")
                ->check(CLI::IsMember(runtime::executor_backends()));
            return [flags] {
              if (!flags->link_speed.empty()) return print_link_speed(flags->link_speed);
              if (!flags->model_speed.empty()) {
                return print_model_speed(*flags);
              }
              const Findings findings = examine(*flags);
              flags->json ? print_json(findings) : print_text(findings);
              return 0;
            };
          },
          .example = "millrace doctor"};
}

}  // namespace millrace::commands
