#include "backend/cpu/kernels.h"
#include "base/worker_team.h"
#include "bench/kernel_op.h"

namespace millrace::bench::ops {
namespace {

// What products of quantized weights do first: activations to int8 in groups of 32.
void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  const backend::cpu::KernelSet kernels = backend::cpu::select_kernels(context.isa);
  WorkerTeam team(context.backend.threads());
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    const std::int64_t k = shape.k / backend::cpu::kGroup * backend::cpu::kGroup;
    if (k == 0) {
      throw_load_error(ErrorCode::kInvalidArgument, "shape", "shape is {}x{}: quantize takes rows of {} values or more",
                       shape.n, shape.k, backend::cpu::kGroup);
    }
    for (const std::int64_t rows : sizes.rows) {
      const Buffer x = random_matrix(context.backend, rows, k, 15);
      std::vector<std::int8_t> codes(static_cast<std::size_t>(rows * k));
      std::vector<float> scales(static_cast<std::size_t>(rows * k / backend::cpu::kGroup));
      std::vector<std::int32_t> sums(2 * scales.size());
      KernelCase c;
      c.labels = {{"width", k}, {"rows", rows}};
      c.what = fmt::format("int8 {}", k);
      c.rows = rows;
      c.bytes = 4.0 * static_cast<double>(rows * k);
      c.run = [&] {
        team.split(rows, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t group = r * k / backend::cpu::kGroup;
            kernels.quantize(x.as<float>() + r * k, k, codes.data() + r * k, scales.data() + group,
                             sums.data() + 2 * group);
          }
        });
      };
      visit(std::move(c));
    }
  }
}

}  // namespace

KernelOp quantize() { return {"quantize", "activations to int8 in groups of 32, in cache", cases}; }

}  // namespace millrace::bench::ops
