#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/machine_probe.h"
#include "base/cpu.h"
#include "bench/report.h"

namespace millrace::bench {

// The sizes that `bench kernels` varies. Each operation uses those that apply to it.
struct KernelSizes {
  struct Matrix {
    std::int64_t n = 8192, k = 2048;  // outputs, inputs
  };
  std::vector<const quant::QuantFormat*> formats;
  std::vector<std::int64_t> rows;
  std::vector<Matrix> shapes;
  std::vector<std::int64_t> contexts;  // tokens
  // A cache for keys and values: its pages, and whether those of a sequence lie in order or anywhere.
  struct Cache {
    std::string dtype, layout;  // as flags name them
    backend::KvFormat pages;
    bool scattered = false;
  };
  std::vector<Cache> caches;
  std::int64_t heads = 32, kv_heads = 8, head_dim = 64, value_dim = 64;  // head_dim: of queries and keys
  backend::MatmulPrecision precision = backend::MatmulPrecision::kAuto;
};

struct KernelContext {
  backend::Backend& backend;
  Isa isa;
  std::size_t cycle_bytes;   // operands are copied until one round over all copies reads so many bytes
  std::size_t memory_bytes;  // limit for one case
};

// One case to time.
struct KernelCase {
  Json labels = Json::object();  // identify the case in the report
  std::string what;              // the same for the table: "q4_0 8192x2048"
  std::int64_t rows = 1;
  double bytes = 0.0;  // read in a call: weights, keys and values from memory, or other operands
  bool from_memory = false;
  double operations = 0.0;                        // arithmetic operations in a call; 0 = not counted
  std::optional<backend::Arithmetic> arithmetic;  // the arithmetic whose peak applies
  std::function<void()> run;                      // one call; the next call takes the next copy
};

// A backend operation to time. Each is a file in ops/, which CMake finds. `cases` makes one case at a time and passes
// it to `visit`; its memory is freed before the next case. Throws LoadError for sizes that the operation does not
// support.
struct KernelOp {
  std::string_view name, summary;
  void (*cases)(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit);
};
std::span<const KernelOp> all_kernel_ops();  // generated

// f32 [rows, columns] with normal-looking values that no kernel finds special.
std::vector<float> random_values(std::int64_t n, std::uint64_t seed);
backend::DeviceBuffer random_matrix(backend::Backend& backend, std::int64_t rows, std::int64_t columns,
                                    std::uint64_t seed);
backend::DeviceView matrix_view(const backend::DeviceBuffer& buffer, std::int64_t rows, std::int64_t columns);

// How many copies of `bytes` each a case needs so that none is in the CPU's cache when its turn comes; at least 2.
// Throws LoadError (kResourceExhausted, naming `what`) if they do not fit.
std::int64_t copies_of(const KernelContext& context, double bytes, std::string_view what);

}  // namespace millrace::bench
