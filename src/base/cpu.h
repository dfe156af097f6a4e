#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

// Instruction sets that kernels are written for, best last. A processor of one runs the ones before it, but for
// kAvxVnni, which not every processor with AVX-512 has: see has_isa.
enum class Isa : std::uint8_t {
  kScalar,      // baseline C++
  kAvx2,        // AVX2, FMA, F16C
  kAvxVnni,     // and AVX-VNNI: int8 dot products of 256 bits (Alder Lake, Zen 5 and later)
  kAvx512Vnni,  // AVX-512 F, BW, VL, DQ, VBMI and VNNI (Ice Lake, Zen 4 and later)
  kAvx512Bf16,  // and AVX512_BF16 (Cooper Lake, Zen 4 and later)
};

std::string_view to_string(Isa isa) noexcept;  // "avx2"
std::optional<Isa> parse_isa(std::string_view name) noexcept;

// The best this processor and operating system (XGETBV) can run.
Isa detect_isa() noexcept;

// Whether they can run this one.
bool has_isa(Isa isa) noexcept;

// The one of that name, or the best for "". kInvalidArgument (cpu-isa) if there is none of that name or it is not here.
Result<Isa> choose_isa(std::string_view name);

// What `doctor` prints and what sizes tiles and threads.
struct CpuInfo {
  std::string model;
  std::string features;                                    // the ones kernels care about, space-separated
  int logical_cpus = 1;                                    // this process may run on (affinity mask)
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // 0 = unknown
  std::string huge_pages;                                  // transparent huge pages: "always", "madvise", "never" or ""
  std::int64_t memory_bytes = 0, memory_available_bytes = 0;
};
CpuInfo cpu_info();

}  // namespace millrace
