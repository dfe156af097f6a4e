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

// What `bench kernels` was asked to vary; each operation takes what concerns it.
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
  std::size_t cycle_bytes;   // operands from memory are made in so many copies that a round over them has this size
  std::size_t memory_bytes;  // that one case may take
};

// One thing to time.
struct KernelCase {
  Json labels = Json::object();  // what distinguishes it, as the report names it
  std::string what;              // the same for the table: "q4_0 8192x2048"
  std::int64_t rows = 1;
  double bytes = 0.0;  // read in a call: from memory (weights, keys and values), or else from wherever they are
  bool from_memory = false;
  double operations = 0.0;                        // of a call; 0 = not counted
  std::optional<backend::Arithmetic> arithmetic;  // whose peak they are compared with
  std::function<void()> run;                      // one call; the next call takes the next copy
};

// An operation of the backend and its cases: one file in ops/, found by CMake. `cases` makes one case at a time and
// hands it to `visit`: the memory of the last is free again then. Throws LoadError for sizes it cannot have.
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

// Copies of `bytes` each that a case needs so that none is in the cache when its turn comes: 2 at least. Throws
// LoadError (kResourceExhausted, naming `what`) if they do not fit.
std::int64_t copies_of(const KernelContext& context, double bytes, std::string_view what);

}  // namespace millrace::bench
