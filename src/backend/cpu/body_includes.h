#pragma once

// Everything that a kernel file includes, before its target pragma: else a header's inline functions would be compiled
// for a newer processor, and the linker might keep that copy for all callers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#ifdef MILLRACE_X86
#include <immintrin.h>
#endif

#include "backend/cpu/compact_panel.h"
#include "backend/cpu/head_rotation.h"
#include "backend/cpu/int8_form.h"
#include "backend/cpu/kept_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/kv_codes.h"
#include "backend/cpu/pack.h"
#include "quant/grid_block.h"
#include "quant/group_format.h"
#include "tensor/dtype.h"

// For loops over a compile-time number of rows or vectors, which must be unrolled: otherwise their accumulators live in
// memory instead of registers (measured: 5 % of the time of a prefill).
#ifdef __clang__
#define MILLRACE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MILLRACE_UNROLL _Pragma("GCC unroll 16")
#endif

// For the loop around such a loop, which must not be unrolled: otherwise the compiler hoists the loads of all its
// rounds and runs out of registers.
#ifdef __clang__
#define MILLRACE_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define MILLRACE_ROLLED _Pragma("GCC unroll 1")
#endif

// A compiler barrier that keeps loads in the order of the source. Otherwise compilers begin with the last line of a
// record, which the processor's prefetcher does not follow (q5_1, one row: 62 instead of 86 % of the read bandwidth).
#define MILLRACE_LOADS_IN_ORDER __asm__ volatile("" ::: "memory");
