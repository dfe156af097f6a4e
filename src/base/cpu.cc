#include "base/cpu.h"

#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/first_line.h"

namespace millrace {
namespace {

constexpr std::array<std::string_view, 5> kIsaNames = {"scalar", "avx2", "avx_vnni", "avx512_vnni", "avx512_bf16"};

// The value of the first "key : value" line of /proc/cpuinfo or /proc/meminfo.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

// Bytes of the data or unified cache of a level, as the kernel describes processor 0; else as the C library does, which
// on some AMD processors multiplies the last level by its count.
std::int64_t cache_bytes(int level, int sysconf_name) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string size = first_line((folder + "size").c_str());
    if (first_line((folder + "level").c_str()) != std::to_string(level) || size.empty()) continue;
    if (first_line((folder + "type").c_str()) == "Instruction") continue;
    return std::atoll(size.c_str()) * (size.back() == 'M' ? 1 << 20 : 1 << 10);
  }
  return std::max<std::int64_t>(0, sysconf(sysconf_name));
}

std::int64_t kilobytes(const std::string& text) { return text.empty() ? 0 : std::atoll(text.c_str()) * 1024; }

}  // namespace

std::string_view to_string(Isa isa) noexcept { return kIsaNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> parse_isa(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kIsaNames.size(); ++i) {
    if (kIsaNames[i] == name) return static_cast<Isa>(i);
  }
  return std::nullopt;
}

bool has_isa(Isa isa) noexcept {
#ifdef MILLRACE_X86
  __builtin_cpu_init();  // reads CPUID and, for the vector state, XGETBV
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni");
  switch (isa) {
    case Isa::kScalar: return true;
    case Isa::kAvx2: return avx2;
    case Isa::kAvxVnni: return avx2 && __builtin_cpu_supports("avxvnni");
    case Isa::kAvx512Vnni: return avx512;
    case Isa::kAvx512Bf16: return avx512 && __builtin_cpu_supports("avx512bf16");
  }
  return false;
#else
  return isa == Isa::kScalar;
#endif
}

Isa detect_isa() noexcept {
  for (const Isa isa : {Isa::kAvx512Bf16, Isa::kAvx512Vnni, Isa::kAvxVnni, Isa::kAvx2}) {
    if (has_isa(isa)) return isa;
  }
  return Isa::kScalar;
}

Result<Isa> choose_isa(std::string_view name) {
  if (name.empty()) return detect_isa();
  const auto wanted = parse_isa(name);
  if (!wanted) {
    return make_error(ErrorCode::kInvalidArgument, "cpu-isa", "unknown instruction set '{}': use {}", name,
                      fmt::join(kIsaNames, ", "));
  }
  if (!has_isa(*wanted)) {
    return make_error(ErrorCode::kInvalidArgument, "cpu-isa", "this processor has {} at best, not {}",
                      to_string(detect_isa()), name);
  }
  return *wanted;
}

CpuInfo cpu_info() {
  CpuInfo info;
  info.model = proc_value("/proc/cpuinfo", "model name");
  std::istringstream flags(proc_value("/proc/cpuinfo", "flags"));
  constexpr std::array<std::string_view, 14> kWanted = {
      "avx2",        "fma",      "f16c",        "avx512f",     "avx512bw", "avx512vl", "avx512vbmi",
      "avx512_vnni", "avx_vnni", "avx512_bf16", "avx512_fp16", "amx_int8", "amx_bf16", "gfni"};
  for (std::string flag; flags >> flag;) {
    for (const std::string_view wanted : kWanted) {
      if (flag == wanted) info.features += (info.features.empty() ? "" : " ") + flag;
    }
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) info.logical_cpus = CPU_COUNT(&set);
  info.l1d_bytes = cache_bytes(1, _SC_LEVEL1_DCACHE_SIZE);
  info.l2_bytes = cache_bytes(2, _SC_LEVEL2_CACHE_SIZE);
  info.l3_bytes = cache_bytes(3, _SC_LEVEL3_CACHE_SIZE);
  const std::string thp = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t open = thp.find('['), close = thp.find(']');
  if (open != std::string::npos && close != std::string::npos) info.huge_pages = thp.substr(open + 1, close - open - 1);
  info.memory_bytes = kilobytes(proc_value("/proc/meminfo", "MemTotal"));
  info.memory_available_bytes = kilobytes(proc_value("/proc/meminfo", "MemAvailable"));
  return info;
}

}  // namespace millrace
