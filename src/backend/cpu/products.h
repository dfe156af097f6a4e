#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/adapter_pieces.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/row_source.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/step_program.h"
#include "backend/cpu/worker_memory.h"

namespace millrace::backend::cpu {

// Output of a product: out = x W^T (+ bias) (+ out).
struct ProductOutput {
  const float* bias;  // [n] or null
  bool accumulate;
  TensorView rows;  // [rows of x, n]
  std::span<const AdapterRows> adapters = {};
};

// Products of a step's rows with a packed weight: either all workers share the columns, or each takes blocks of rows
// through all columns. Functions that take a StepProgram record on the stream's thread; those that take a worker's
// number run on that worker.
class Products {
 public:
  // The rows of a product whose columns the workers share, and those that adapters of them read.
  struct SharedInput {
    RowSource source;
    const PackedLinear* weight;
    std::uint64_t contents;  // of the prepared rows
    bool own;                // each worker prepares the rows for itself, the first time; else they are prepared once
    std::span<const AdapterRows> adapters;
    SharedAdapters* shared;  // of the adapters; null: there are none
    AdapterForm form;        // of the rows that they read
    std::size_t form_at;     // if `own`, where these lie in a worker's memory
  };

  Products(const KernelSet& kernels, WorkerMemory& workers, int n_workers)
      : kernels_(kernels), workers_(workers), prepared_(static_cast<std::size_t>(n_workers)) {}

  // Records the preparation of the rows, unless there are so few that each worker prepares them for itself.
  SharedInput share_input(StepProgram& program, const RowSource& source, const PackedLinear& weight,
                          std::span<const AdapterRows> adapters = {});
  // The prepared rows. If each worker prepares them for itself, this call does so the first time. Also takes rows
  // through the adapters' A, until none is left.
  ActivationRows open_input(const SharedInput& input, int worker) noexcept;
  // Bytes of a worker's memory that open_input() uses, from the beginning.
  static std::size_t input_bytes(const SharedInput& input) noexcept {
    return input.form_at + (input.own ? AdapterInput(input.form, input.source.rows(), nullptr).bytes() : 0);
  }
  // What the adapters do to the product. On that worker, which has called open_input().
  AdapterOutputs outputs(const SharedInput& input, int worker) const noexcept {
    return outputs(input.shared, adapter_input(input, worker));
  }

  // The adapters of a product whose rows were prepared elsewhere; null: there are none. Each worker takes rows through
  // A before it adds outputs().
  SharedAdapters* share_adapters(std::span<const AdapterRows> adapters, std::int64_t rows);
  void shrink(SharedAdapters* adapters, const AdapterInput& rows) noexcept {
    if (adapters != nullptr) adapters->shrink(kernels_, rows, ranks_.data());
  }
  AdapterOutputs outputs(const SharedAdapters* adapters, const AdapterInput& x) const noexcept {
    return {.shared = adapters, .ranks = ranks_.data(), .x = x};
  }
  // See ApartRows.
  ApartRows apart_rows(std::span<const AdapterRows> adapters, bool accumulate, std::int64_t rows,
                       std::int64_t columns) {
    return ApartRows(adapters, accumulate, rows, columns, apart_);
  }
  // The step has been recorded and run.
  void end_step() noexcept { shared_used_ = 0; }

  // Records a product whose columns the workers share.
  void multiply_columns(StepProgram& program, const RowSource& source, const PackedLinear& weight,
                        const ProductOutput& output);

  // Computes the product of the rows [first, first + rows) in the worker's memory. reserve_block() must be called
  // before.
  void multiply_rows(const RowSource& source, const PackedLinear& weight, const ProductOutput& output,
                     const ApartRows& apart, std::int64_t first, std::int64_t rows, int worker) const noexcept;
  void reserve_block(const PackedLinear& weight, std::int64_t rows, std::span<const AdapterRows> adapters);

 private:
  struct alignas(64) Prepared {
    std::uint64_t contents = 0;  // of the SharedInput that a worker's memory holds
  };

  const KernelSet& kernels_;
  WorkerMemory& workers_;
  // The rows that adapters read, where share_input() or a worker puts them.
  AdapterInput adapter_input(const SharedInput& input, int worker) const noexcept;

  Scratch input_;                  // shared by the workers during a product
  Scratch adapter_input_, ranks_;  // likewise, of its adapters
  Scratch apart_;
  std::deque<SharedAdapters> shared_;  // of the products recorded; kept for their memory
  std::size_t shared_used_ = 0;
  std::vector<Prepared> prepared_;
};

}  // namespace millrace::backend::cpu
