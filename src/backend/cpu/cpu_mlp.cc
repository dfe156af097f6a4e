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

// Of a worker that takes a block of rows: where its parts begin in its memory, behind a row for the norm.
struct BlockMemory {
  std::size_t input, hidden, chunk;
  std::size_t adapter_input, adapter_hidden, pieces, ranks;  // only with adapters
  std::size_t bytes;
};

BlockMemory block_memory(const HostMlp& mlp, std::int64_t rows, std::int64_t block) noexcept {
  const ActivationForm up = packed(mlp.up).activation_form(), down = packed(mlp.down).activation_form();
  const auto bytes_of = [&](const ActivationForm& form) { return ActivationRows(form, block, nullptr).bytes(); };
  BlockMemory memory{};
  memory.input = WorkerMemory::row_bytes(up.k);
  memory.hidden = memory.input + bytes_of(up);
  memory.chunk = memory.hidden + bytes_of(down);
  memory.adapter_input = memory.chunk + HiddenColumns::chunk_bytes(block);
  memory.adapter_hidden = memory.adapter_input + AdapterInput(input_form(mlp.up_adapters), block, nullptr).bytes();
  memory.pieces = memory.adapter_hidden + AdapterInput(input_form(mlp.down_adapters), block, nullptr).bytes();
  std::size_t pieces = 0, ranks = 0, largest = 0;
  for (std::int64_t first = 0; first < rows && mlp.has_adapters(); first += block) {
    for (const auto adapters : {mlp.up_adapters, mlp.down_adapters}) {
      std::size_t count = 0;
      const auto visit = [&](const AdapterPiece& piece) {
        largest = std::max(largest, piece.weights->rank_bytes(piece.rows));
        ++count;
      };
      ranks = std::max(ranks, cut_adapters(adapters, first, std::min(block, rows - first), block, false, visit));
      pieces = std::max(pieces, count);
    }
  }
  memory.ranks = memory.pieces + (pieces * sizeof(AdapterPiece) + 63) / 64 * 64;
  memory.bytes = memory.ranks + ranks + largest;  // and scratch behind the last
  return memory;
}

// Blocks of rows, each through the whole operation in the memory of the worker that takes it.
void record_blocks(StepProgram& program, const KernelSet& kernels, WorkerMemory& workers, const HostMlp& mlp,
                   const ApartRows& apart, TensorView x, TensorView out, std::int64_t block) {
  const BlockMemory at = block_memory(mlp, x.rows(), block);
  workers.reserve(at.bytes);
  const RowSource source(x, mlp.norm);
  program.add_tasks((x.rows() + block - 1) / block, [=, &kernels, &workers](std::int64_t i, int worker) {
    const std::int64_t first = i * block, rows = std::min(block, x.rows() - first);
    const PackedLinear& weight = packed(mlp.down);
    std::byte* memory = workers.of(worker);
    const ActivationRows input =
        ActivationRows(packed(mlp.up).activation_form(), rows, memory + at.input).with_contents(new_contents());
    const ActivationRows hidden(weight.activation_form(), rows, memory + at.hidden);
    const AdapterInput own(input_form(mlp.up_adapters), rows, memory + at.adapter_input);
    store_rows(kernels, source, first, rows, input, mlp.up_adapters, own, workers.normed_row(worker));
    const AdapterInput of_down(input_form(mlp.down_adapters), rows, memory + at.adapter_hidden);
    const HiddenColumns columns = hidden_of(mlp);
    auto* pieces = reinterpret_cast<AdapterPiece*>(memory + at.pieces);
    std::size_t count = 0;
    cut_adapters(mlp.up_adapters, first, rows, block, false, [&](const AdapterPiece& piece) {
      piece.weights->shrink_all(kernels, own, piece.first_row, piece.rows, piece.scale,
                                memory + at.ranks + piece.ranks_at);
      pieces[count++] = piece;
    });
    const HiddenAdapters adapters{.up = {.pieces = std::span(pieces, count), .ranks = memory + at.ranks, .x = own},
                                  .down = mlp.down_adapters,
                                  .first_row = first,
                                  .hidden = of_down};
    columns.compute(kernels, 0, columns.panels(), input, hidden, reinterpret_cast<float*>(memory + at.chunk),
                    mlp.has_adapters() ? &adapters : nullptr);
    hidden.finish_rows(kernels, 0, rows);
    apart.take(first, rows, 0, weight.n(), out.row(first), out.row_stride());
    weight.multiply(0, weight.panels(), {hidden, mlp.down_bias, mlp.accumulate, out.row(first), out.row_stride()});
    cut_adapters(mlp.down_adapters, first, rows, block, false, [&](const AdapterPiece& piece) {
      piece.weights->shrink_all(kernels, of_down, piece.first_row, piece.rows, piece.scale, memory + at.ranks);
      const AdaptedColumns to{0, weight.panels(), 0, mlp.down_bias, out.row(first + piece.first_row), out.row_stride()};
      piece.weights->expand(kernels, to, of_down, piece.first_row, piece.rows, piece.scale, memory + at.ranks);
    });
    apart.add_back(first, rows, 0, weight.n(), out.row(first), out.row_stride());
  });
}

}  // namespace

// Where ranks have some of the hidden columns each, which they exchange in the form of the second product, if that can
// be cut, or as f32.
struct CpuBackend::SharedMlp {
  CpuBackend& backend;
  void record(const HostMlp& mlp, const TensorView& x, const TensorView& out) const;
  // This rank's columns of the hidden layer, for the product `down`.
  void own_hidden(const HiddenColumns& columns, const RowSource& source, const PackedLinear& down) const;
};

void CpuBackend::SharedMlp::record(const HostMlp& mlp, const TensorView& x, const TensorView& out) const {
  CpuBackend& b = backend;
  const PackedLinear& down = packed(mlp.down);
  const std::int64_t rows = x.rows(), own_first = mlp.hidden.borders[static_cast<std::size_t>(b.rank())];
  HiddenColumns columns = hidden_of(mlp);
  columns.width = mlp.hidden.borders[static_cast<std::size_t>(b.rank()) + 1] - own_first;
  DCHECK(packed(mlp.up).n() == (mlp.gated ? 2 : 1) * columns.width && down.n() == out.cols() && !mlp.has_adapters());
  if (rows == 0) return;
  const ActivationForm form = down.activation_form();
  const bool cut = form.can_be_cut(mlp.hidden.borders);
  TensorView plain;
  if (cut) {
    b.hidden_.reserve(ActivationRows(form, rows, nullptr).bytes());
    columns.first_hidden = own_first;
  } else {
    b.shared_hidden_.reserve(static_cast<std::size_t>(rows * down.k()) * sizeof(float));
    plain = TensorView(b.shared_hidden_.data(), DType::kF32, {rows, down.k()});
    columns.plain = plain;
    columns.plain.data = plain.row(0) + own_first;
    columns.plain.shape = {rows, columns.width};
  }
  own_hidden(columns, RowSource(x, mlp.norm), down);
  const ProductOutput output{mlp.down_bias, mlp.accumulate, out};
  if (!cut) {
    b.ranks_->record(*b.program_, mlp.hidden, plain);
    return b.record_product(RowSource(plain, std::nullopt), down, output);
  }
  const CutRows of{.weight = &down, .rows = rows, .memory = &b.hidden_, .kernels = &b.kernels_};
  b.ranks_->record(*b.program_, mlp.hidden, of);
  b.record_product(of, output);
}

void CpuBackend::SharedMlp::own_hidden(const HiddenColumns& columns, const RowSource& source,
                                       const PackedLinear& down) const {
  CpuBackend& b = backend;
  const std::int64_t rows = source.rows(), block = row_block(rows, b.threads());
  const auto hidden_rows = [=, &b, &down] { return ActivationRows(down.activation_form(), rows, b.hidden_.data()); };
  const PackedLinear& up = *columns.up;
  if (block == 0) {
    const Products::SharedInput input = b.products_.share_input(*b.program_, source, up);
    const std::size_t own = Products::input_bytes(input);  // behind what open_input puts there
    b.workers_.reserve(own + HiddenColumns::chunk_bytes(rows));
    return b.program_->add_split(columns.panels(), kColumnGrain,
                                 [=, &b](std::int64_t begin, std::int64_t end, int worker) {
                                   const ActivationRows prepared = b.products_.open_input(input, worker);
                                   columns.compute(b.kernels_, begin, end, prepared, hidden_rows(),
                                                   reinterpret_cast<float*>(b.workers_.of(worker) + own));
                                 });
  }
  const std::size_t input_at = WorkerMemory::row_bytes(up.k());
  const std::size_t chunk_at = input_at + ActivationRows(up.activation_form(), block, nullptr).bytes();
  b.workers_.reserve(chunk_at + HiddenColumns::chunk_bytes(block));
  b.program_->add_tasks((rows + block - 1) / block, [=, &b](std::int64_t i, int worker) {
    const std::int64_t first = i * block, n = std::min(block, rows - first);
    std::byte* memory = b.workers_.of(worker);
    const ActivationRows input =
        ActivationRows(columns.up->activation_form(), n, memory + input_at).with_contents(new_contents());
    source.store(b.kernels_, first, n, input, b.workers_.normed_row(worker));
    HiddenColumns of_block = columns;
    if (columns.plain.data != nullptr) {
      of_block.plain.data = columns.plain.row(first);
      of_block.plain.shape = {n, columns.width};
    }
    of_block.compute(b.kernels_, 0, columns.panels(), input, hidden_rows().part(first, n),
                     reinterpret_cast<float*>(memory + chunk_at));
  });
}

void CpuBackend::mlp(const Mlp& of_device, DeviceView from, DeviceView to) {
  const HostMlp mlp = on_host(of_device);
  const TensorView x = on_host(from), out = on_host(to);
  const std::int64_t rows = x.rows();
  if (ranks_ != nullptr && !mlp.hidden.borders.empty()) return SharedMlp{*this}.record(mlp, x, out);
  const PackedLinear &up = packed(mlp.up), &down = packed(mlp.down);
  DCHECK(x.cols() == up.k() && up.n() == (mlp.gated ? 2 : 1) * down.k() && down.n() == out.cols() &&
         rows == out.rows());
  DCHECK(!mlp.gated || up.panels() == 2 * ((down.k() + kPanelRows - 1) / kPanelRows));
  if (rows == 0) return;
  const RowSource source(x, mlp.norm);
  const ApartRows apart = products_.apart_rows(mlp.down_adapters, mlp.accumulate, rows, down.n());
  if (const std::int64_t block = row_block(rows, threads())) {
    return record_blocks(*program_, kernels_, workers_, mlp, apart, x, out, block);
  }
  const Products::SharedInput input = products_.share_input(*program_, source, up, mlp.up_adapters);
  hidden_.reserve(ActivationRows(down.activation_form(), rows, nullptr).bytes());
  const AdapterForm down_form = input_form(mlp.down_adapters);
  adapter_hidden_.reserve(AdapterInput(down_form, rows, nullptr).bytes());
  const std::size_t own = Products::input_bytes(input);  // behind what open_input puts there
  workers_.reserve(own + HiddenColumns::chunk_bytes(rows));
  program_->add_split(
      hidden_of(mlp).panels(), kColumnGrain, [=, this](std::int64_t begin, std::int64_t end, int worker) {
        const ActivationRows hidden(packed(mlp.down).activation_form(), rows, hidden_.data());
        auto* chunk = reinterpret_cast<float*>(workers_.of(worker) + own);
        const ActivationRows prepared = products_.open_input(input, worker);
        const HiddenAdapters adapters{.up = products_.outputs(input, worker),
                                      .down = mlp.down_adapters,
                                      .hidden = AdapterInput(down_form, rows, adapter_hidden_.data())};
        hidden_of(mlp).compute(kernels_, begin, end, prepared, hidden, chunk, mlp.has_adapters() ? &adapters : nullptr);
      });
  if (down.activation_form().waits_for_rows()) {
    program_->add_split(rows, 1, [this, mlp, rows](std::int64_t begin, std::int64_t end, int) {
      ActivationRows(packed(mlp.down).activation_form(), rows, hidden_.data()).finish_rows(kernels_, begin, end);
    });
  }
  record_down(mlp, rows, down_form, apart, out);
}

// Columns of the second product, which the workers share.
void CpuBackend::record_down(const HostMlp& mlp, std::int64_t rows, const AdapterForm& down_form,
                             const ApartRows& apart, TensorView out) {
  const std::uint64_t contents = new_contents();
  SharedAdapters* of_down = products_.share_adapters(mlp.down_adapters, rows);
  program_->add_split(packed(mlp.down).panels(), kColumnGrain, [=, this](std::int64_t begin, std::int64_t end, int) {
    const PackedLinear& weight = packed(mlp.down);
    const ActivationRows hidden =
        ActivationRows(weight.activation_form(), rows, hidden_.data()).with_contents(contents);
    const AdapterInput read(down_form, rows, adapter_hidden_.data());
    products_.shrink(of_down, read);
    const std::int64_t column = weight.column(begin), n = weight.column(end) - column;
    float* first = out.row(0) + column;
    const AdaptedColumns columns{begin, end, column, mlp.down_bias, first, out.row_stride()};
    AheadOfPieces ahead;
    if (of_down != nullptr) {
      products_.outputs(of_down, read).add_ahead(columns, ahead);
      apart.take(0, rows, column, n, first, out.row_stride());
    }
    weight.multiply(begin, end,
                    {.x = hidden,
                     .bias = mlp.down_bias,
                     .accumulate = mlp.accumulate,
                     .out = first,
                     .out_stride = out.row_stride(),
                     .ahead = ahead.stream(ahead_steps(end - begin, rows, weight.k()))});
    if (of_down == nullptr) return;
    products_.outputs(of_down, read).apply(kernels_, columns);
    apart.add_back(0, rows, column, n, first, out.row_stride());
  });
}

}  // namespace millrace::backend::cpu
