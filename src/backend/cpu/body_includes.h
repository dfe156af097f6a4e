#pragma once

// Everything a kernel file needs from outside, included before its target pragma: a header's inline functions compiled
// for a newer processor could be the copy the linker keeps for everybody.
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

#include "backend/cpu/kernels.h"
#include "backend/cpu/pack.h"
#include "tensor/dtype.h"

// The loop over a compile-time number of rows or vectors that must become straight code: rolled, its accumulators live
// in memory instead of registers (measured: 5 % of the time of a prefill).
#ifdef __clang__
#define MILLRACE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MILLRACE_UNROLL _Pragma("GCC unroll 16")
#endif

// The loop around it: unrolled, the compiler hoists what all rounds load out of an outer loop and has no registers
// left.
#ifdef __clang__
#define MILLRACE_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define MILLRACE_ROLLED _Pragma("GCC unroll 1")
#endif

// What is read before it is read first. Left to themselves compilers begin with the last line of a record, which the
// processor's prefetching does not follow (q5_1, one row: 62 instead of 86 % of the read bandwidth).
#define MILLRACE_LOADS_IN_ORDER __asm__ volatile("" ::: "memory");
