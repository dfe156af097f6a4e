// The feed-forward part of a layer. What the activation gives is at once converted to the form that `down` wants: as
// f32 it exists only for a few columns.

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/row_blocks.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

// Gate and up are computed a chunk of columns at a time: as many as stay in the first cache, as memory is read from
// another place after each, and at least so many.
constexpr std::int64_t kMinChunkColumns = 64;  // a multiple of a group of columns
constexpr std::int64_t kChunkValues = 2048;
constexpr std::int64_t kColumnGrain = kGroup / kPanelRows;  // panels: a group of columns belongs to one worker

std::int64_t chunk_columns(std::int64_t rows) {
  return std::max(kMinChunkColumns, kChunkValues / rows / kMinChunkColumns * kMinChunkColumns);
}

std::size_t chunk_bytes(std::int64_t rows) {
  return static_cast<std::size_t>(2 * rows * chunk_columns(rows)) * sizeof(float);
}

const PackedLinear& packed(const Linear* linear) { return static_cast<const PackedLinear&>(*linear); }

// Panels [first, last) of the hidden layer, for `rows` rows. `chunk`: room for a few columns of each.
void activate_columns(const KernelSet& kernels, const HostMlp& mlp, std::int64_t first, std::int64_t last,
                      const ActivationRows& input, std::int64_t rows, const ActivationRows& hidden,
                      float* chunk) noexcept {
  const PackedLinear& up = packed(mlp.up);
  const std::int64_t width = packed(mlp.down).k();
  const std::int64_t gate_panels = mlp.gated ? up.panels() / 2 : 0;
  const std::int64_t stride = chunk_columns(rows), panels = stride / kPanelRows;
  float* gate = mlp.gated ? chunk + rows * stride : nullptr;
  for (std::int64_t panel = first; panel < last; panel += panels) {
    const std::int64_t end = std::min(last, panel + panels);
    const std::int64_t column = panel * kPanelRows, columns = std::min(width, end * kPanelRows) - column;
    if (mlp.gated) up.multiply(panel, end, {input, mlp.up_bias, false, gate, stride});
    up.multiply(gate_panels + panel, gate_panels + end, {input, mlp.up_bias, false, chunk, stride});
    for (std::int64_t r = 0; r < rows; ++r) {
      float* x = chunk + r * stride;
      if (mlp.gated) {
        kernels.activate(mlp.activation, mlp.parameters, gate + r * stride, x, columns, x);
      } else {
        kernels.activate(mlp.activation, mlp.parameters, x, nullptr, columns, x);
      }
      hidden.store(kernels, r, column, x, columns);
    }
  }
}

// Blocks of rows, each through the whole operation in the memory of the worker that takes it.
void record_blocks(StepProgram& program, const KernelSet& kernels, WorkerMemory& workers, const HostMlp& mlp,
                   TensorView x, TensorView out, std::int64_t block) {
  const PackedLinear &up = packed(mlp.up), &down = packed(mlp.down);
  const std::size_t input_at = WorkerMemory::row_bytes(up.k());
  const std::size_t hidden_at = input_at + ActivationRows(up.activation_form(), block, nullptr).bytes();
  const std::size_t chunk_at = hidden_at + ActivationRows(down.activation_form(), block, nullptr).bytes();
  workers.reserve(chunk_at + chunk_bytes(block));
  const RowSource source(x, mlp.norm);
  program.add_tasks((x.rows() + block - 1) / block, [=, &kernels, &workers](std::int64_t i, int worker) {
    const std::int64_t first = i * block, rows = std::min(block, x.rows() - first);
    const PackedLinear& weight = packed(mlp.down);
    std::byte* memory = workers.of(worker);
    const ActivationRows input(packed(mlp.up).activation_form(), rows, memory + input_at),
        hidden(weight.activation_form(), rows, memory + hidden_at);
    source.store(kernels, first, rows, input, workers.normed_row(worker));
    activate_columns(kernels, mlp, 0, (weight.k() + kPanelRows - 1) / kPanelRows, input, rows, hidden,
                     reinterpret_cast<float*>(memory + chunk_at));
    weight.multiply(0, weight.panels(), {hidden, mlp.down_bias, mlp.accumulate, out.row(first), out.row_stride()});
  });
}

}  // namespace

// Inputs of both products, as f32 at the widest, and of each worker a chunk of gate and up: the most that one operation
// keeps, whether workers share the columns or have a block of rows each.
std::size_t CpuBackend::workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn) const noexcept {
  const std::int64_t shared = max_shared_rows(rows, threads());
  const std::int64_t together = std::max(shared, std::min(rows, kMaxBlockRows * threads()));
  const std::int64_t of_one = std::max(shared, std::min(rows, kMaxBlockRows));
  return static_cast<std::size_t>(together) * (WorkerMemory::row_bytes(hidden) + WorkerMemory::row_bytes(ffn)) +
         static_cast<std::size_t>(threads()) * std::max(chunk_bytes(1), chunk_bytes(of_one));
}

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
  workers_.reserve(own + chunk_bytes(rows));
  program_->add_split((down.k() + kPanelRows - 1) / kPanelRows, kColumnGrain,
                      [this, mlp, input, own](std::int64_t begin, std::int64_t end, int worker) {
                        const std::int64_t n = input.source.rows();
                        const ActivationRows hidden(packed(mlp.down).activation_form(), n, hidden_.data());
                        auto* chunk = reinterpret_cast<float*>(workers_.of(worker) + own);
                        activate_columns(kernels_, mlp, begin, end, products_.open_input(input, worker), n, hidden,
                                         chunk);
                      });
  program_->add_split(down.panels(), kColumnGrain, [this, mlp, out](std::int64_t begin, std::int64_t end, int) {
    const PackedLinear& weight = packed(mlp.down);
    const ActivationRows hidden(weight.activation_form(), out.rows(), hidden_.data());
    weight.multiply(begin, end,
                    {hidden, mlp.down_bias, mlp.accumulate, out.row(0) + weight.column(begin), out.row_stride()});
  });
}

}  // namespace millrace::backend::cpu
