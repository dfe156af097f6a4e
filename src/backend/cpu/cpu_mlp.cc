// The feed-forward part of a layer.

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/hidden_columns.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/row_blocks.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

HiddenColumns hidden_of(const HostMlp& mlp) noexcept {
  return {.up = &packed(mlp.up),
          .bias = mlp.up_bias,
          .width = packed(mlp.down).k(),
          .gated = mlp.gated,
          .activation = mlp.activation,
          .parameters = mlp.parameters};
}

// Blocks of rows, each through the whole operation in the memory of the worker that takes it.
void record_blocks(StepProgram& program, const KernelSet& kernels, WorkerMemory& workers, const HostMlp& mlp,
                   TensorView x, TensorView out, std::int64_t block) {
  const PackedLinear &up = packed(mlp.up), &down = packed(mlp.down);
  const std::size_t input_at = WorkerMemory::row_bytes(up.k());
  const std::size_t hidden_at = input_at + ActivationRows(up.activation_form(), block, nullptr).bytes();
  const std::size_t chunk_at = hidden_at + ActivationRows(down.activation_form(), block, nullptr).bytes();
  workers.reserve(chunk_at + HiddenColumns::chunk_bytes(block));
  const RowSource source(x, mlp.norm);
  program.add_tasks((x.rows() + block - 1) / block, [=, &kernels, &workers](std::int64_t i, int worker) {
    const std::int64_t first = i * block, rows = std::min(block, x.rows() - first);
    const PackedLinear& weight = packed(mlp.down);
    std::byte* memory = workers.of(worker);
    const ActivationRows input =
        ActivationRows(packed(mlp.up).activation_form(), rows, memory + input_at).with_contents(new_contents());
    const ActivationRows hidden(weight.activation_form(), rows, memory + hidden_at);
    source.store(kernels, first, rows, input, workers.normed_row(worker));
    const HiddenColumns columns = hidden_of(mlp);
    columns.compute(kernels, 0, columns.panels(), input, hidden, reinterpret_cast<float*>(memory + chunk_at));
    hidden.finish_rows(kernels, 0, rows);
    weight.multiply(0, weight.panels(), {hidden, mlp.down_bias, mlp.accumulate, out.row(first), out.row_stride()});
  });
}

}  // namespace

void CpuBackend::mlp(const Mlp& of_device, DeviceView from, DeviceView to) {
  const HostMlp mlp = on_host(of_device);
  const TensorView x = on_host(from), out = on_host(to);
  const std::int64_t rows = x.rows();
  const PackedLinear &up = packed(mlp.up), &down = packed(mlp.down);
  DCHECK(x.cols() == up.k() && up.n() == (mlp.gated ? 2 : 1) * down.k() && down.n() == out.cols() &&
         rows == out.rows());
  DCHECK(!mlp.gated || up.panels() == 2 * ((down.k() + kPanelRows - 1) / kPanelRows));
  if (rows == 0) return;
  const RowSource source(x, mlp.norm);
  if (const std::int64_t block = row_block(rows, threads())) {
    return record_blocks(*program_, kernels_, workers_, mlp, x, out, block);
  }
  const Products::SharedInput input = products_.share_input(*program_, source, up);
  hidden_.reserve(ActivationRows(down.activation_form(), rows, nullptr).bytes());
  // Behind what open_input puts there.
  const std::size_t own = WorkerMemory::row_bytes(up.k()) + ActivationRows(up.activation_form(), rows, nullptr).bytes();
  workers_.reserve(own + HiddenColumns::chunk_bytes(rows));
  program_->add_split(
      hidden_of(mlp).panels(), kColumnGrain, [this, mlp, input, own](std::int64_t begin, std::int64_t end, int worker) {
        const std::int64_t n = input.source.rows();
        const ActivationRows hidden(packed(mlp.down).activation_form(), n, hidden_.data());
        auto* chunk = reinterpret_cast<float*>(workers_.of(worker) + own);
        hidden_of(mlp).compute(kernels_, begin, end, products_.open_input(input, worker), hidden, chunk);
      });
  if (down.activation_form().waits_for_rows()) {
    program_->add_split(rows, 1, [this, mlp, rows](std::int64_t begin, std::int64_t end, int) {
      ActivationRows(packed(mlp.down).activation_form(), rows, hidden_.data()).finish_rows(kernels_, begin, end);
    });
  }
  const std::uint64_t contents = new_contents();
  program_->add_split(
      down.panels(), kColumnGrain, [this, mlp, out, contents](std::int64_t begin, std::int64_t end, int) {
        const PackedLinear& weight = packed(mlp.down);
        const ActivationRows hidden =
            ActivationRows(weight.activation_form(), out.rows(), hidden_.data()).with_contents(contents);
        weight.multiply(begin, end,
                        {hidden, mlp.down_bias, mlp.accumulate, out.row(0) + weight.column(begin), out.row_stride()});
      });
}

}  // namespace millrace::backend::cpu
