#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

// Instruction sets for which there are kernels, the best last. A processor with one of them also has those before it,
// except kAvxVnni, which some processors with AVX-512 lack (has_isa).
enum class Isa : std::uint8_t {
  kScalar,      // baseline C++
  kAvx2,        // AVX2, FMA, F16C
  kAvxVnni,     // plus AVX-VNNI: int8 dot products of 256 bits (Alder Lake, Zen 5 and later)
  kAvx512Vnni,  // AVX-512 F, BW, VL, DQ, VBMI and VNNI (Ice Lake, Zen 4 and later)
  kAvx512Bf16,  // plus AVX512_BF16 (Cooper Lake, Zen 4 and later)
};

std::string_view to_string(Isa isa) noexcept;  // "avx2"
std::optional<Isa> parse_isa(std::string_view name) noexcept;

// The best instruction set that this processor and the operating system (XGETBV) support.
Isa detect_isa() noexcept;

// Whether processor and operating system support it.
bool has_isa(Isa isa) noexcept;

// The instruction set of that name; "" = the best. kInvalidArgument (cpu-isa) if the name is unknown or it is not
// supported.
Result<Isa> choose_isa(std::string_view name);

// Properties of the processor and memory, for `doctor` and for the sizes of tiles and teams.
struct CpuInfo {
  std::string model;
  std::string features;                                    // those that kernels use, space-separated
  int logical_cpus = 1;                                    // that this process may run on (affinity mask)
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // 0 = unknown
  std::string huge_pages;                                  // transparent huge pages: "always", "madvise", "never" or ""
  std::int64_t memory_bytes = 0, memory_available_bytes = 0;
};
CpuInfo cpu_info();

}  // namespace millrace
