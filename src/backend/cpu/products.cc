#include "backend/cpu/products.h"

namespace millrace::backend::cpu {
namespace {

// Up to so many rows each worker prepares all of them for itself: cheaper than waiting for each other.
constexpr std::int64_t kOwnRows = 2;
constexpr std::int64_t kGrain = 2;  // panels

}  // namespace

Products::SharedInput Products::share_input(StepProgram& program, const RowSource& source, const PackedLinear& weight,
                                            std::span<const AdapterRows> adapters) {
  const std::int64_t rows = source.rows();
  const ActivationForm form = weight.activation_form();
  const bool own = rows <= kOwnRows;
  const std::size_t form_at = WorkerMemory::row_bytes(form.k) + (own ? ActivationRows(form, rows, nullptr).bytes() : 0);
  const SharedInput input{
      source, &weight, new_contents(), own, adapters, share_adapters(adapters, rows), input_form(adapters), form_at};
  workers_.reserve(input_bytes(input));
  if (input.own) return input;
  input_.reserve(ActivationRows(form, rows, nullptr).bytes());
  adapter_input_.reserve(AdapterInput(input.form, rows, nullptr).bytes());
  program.add_split(rows, 1, [this, input](std::int64_t begin, std::int64_t end, int worker) {
    const ActivationRows shared(input.weight->activation_form(), input.source.rows(), input_.data());
    const AdapterInput read = adapter_input(input, worker);
    for (std::int64_t r = begin; r < end; ++r) {
      const float* x = input.source.row(kernels_, r, workers_.normed_row(worker));
      shared.store_row(kernels_, r, x);
      if (has_row(input.adapters, r)) read.put(kernels_, r, 0, x, input.source.columns());
    }
  });
  return input;
}

AdapterInput Products::adapter_input(const SharedInput& input, int worker) const noexcept {
  std::byte* memory = input.own ? workers_.of(worker) + input.form_at : adapter_input_.data();
  return AdapterInput(input.form, input.source.rows(), memory);
}

ActivationRows Products::open_input(const SharedInput& input, int worker) noexcept {
  const ActivationForm form = input.weight->activation_form();
  std::byte* memory = input.own ? workers_.of(worker) + WorkerMemory::row_bytes(form.k) : input_.data();
  const ActivationRows rows = ActivationRows(form, input.source.rows(), memory).with_contents(input.contents);
  std::uint64_t& prepared = prepared_[static_cast<std::size_t>(worker)].contents;
  if (input.own && prepared != input.contents) {
    store_rows(kernels_, input.source, 0, input.source.rows(), rows, input.adapters, adapter_input(input, worker),
               workers_.normed_row(worker));
    prepared = input.contents;
  }
  if (input.shared != nullptr) shrink(input.shared, adapter_input(input, worker));
  return rows;
}

SharedAdapters* Products::share_adapters(std::span<const AdapterRows> adapters, std::int64_t rows) {
  if (adapters.empty()) return nullptr;
  if (shared_used_ == shared_.size()) shared_.emplace_back();
  SharedAdapters& shared = shared_[shared_used_++];
  ranks_.reserve(shared.begin(adapters, rows, static_cast<int>(prepared_.size())));
  return &shared;
}

void Products::multiply_columns(StepProgram& program, const RowSource& source, const PackedLinear& weight,
                                const ProductOutput& output) {
  const SharedInput input = share_input(program, source, weight, output.adapters);
  const ApartRows apart = apart_rows(output.adapters, output.accumulate, source.rows(), weight.n());
  program.add_split(weight.panels(), kGrain, [=, this](std::int64_t begin, std::int64_t end, int worker) {
    const ActivationRows x = open_input(input, worker);
    const TensorView& out = output.rows;
    const std::int64_t column = input.weight->column(begin), n = input.weight->column(end) - column;
    float* to = out.row(0) + column;
    const AdaptedColumns columns{begin, end, column, output.bias, to, out.row_stride()};
    AheadOfPieces ahead;
    if (input.shared != nullptr) {
      outputs(input, worker).add_ahead(columns, ahead);
      apart.take(0, x.rows(), column, n, to, out.row_stride());
    }
    input.weight->multiply(begin, end,
                           {.x = x,
                            .bias = output.bias,
                            .accumulate = output.accumulate,
                            .out = to,
                            .out_stride = out.row_stride(),
                            .ahead = ahead.stream(ahead_steps(end - begin, x.rows(), input.weight->k()))});
    if (input.shared == nullptr) return;
    outputs(input, worker).apply(kernels_, columns);
    apart.add_back(0, x.rows(), column, n, to, out.row_stride());
  });
}

void Products::multiply_rows(const RowSource& source, const PackedLinear& weight, const ProductOutput& output,
                             const ApartRows& apart, std::int64_t first, std::int64_t rows, int worker) const noexcept {
  std::byte* memory = workers_.of(worker) + WorkerMemory::row_bytes(weight.k());
  const ActivationRows x(weight.activation_form(), rows, memory);
  const AdapterInput own(input_form(output.adapters), rows, memory + x.bytes());
  store_rows(kernels_, source, first, rows, x, output.adapters, own, workers_.normed_row(worker));
  const TensorView& out = output.rows;
  apart.take(first, rows, 0, weight.n(), out.row(first), out.row_stride());
  weight.multiply(0, weight.panels(), {x, output.bias, output.accumulate, out.row(first), out.row_stride()});
  std::byte* ranks = memory + x.bytes() + own.bytes();
  cut_adapters(output.adapters, first, rows, rows, false, [&](const AdapterPiece& piece) {
    piece.weights->shrink_all(kernels_, own, piece.first_row, piece.rows, piece.scale, ranks);
    const AdaptedColumns columns{
        0, weight.panels(), 0, output.bias, out.row(first + piece.first_row), out.row_stride()};
    piece.weights->expand(kernels_, columns, own, piece.first_row, piece.rows, piece.scale, ranks);
  });
  apart.add_back(first, rows, 0, weight.n(), out.row(first), out.row_stride());
}

void Products::reserve_block(const PackedLinear& weight, std::int64_t rows, std::span<const AdapterRows> adapters) {
  std::size_t ranks = 0;
  for (const AdapterRows& adapter : adapters) {
    ranks = std::max(ranks, static_cast<const PackedLowRank&>(*adapter.weights).rank_bytes(rows));
  }
  workers_.reserve(WorkerMemory::row_bytes(weight.k()) +
                   ActivationRows(weight.activation_form(), rows, nullptr).bytes() +
                   AdapterInput(input_form(adapters), rows, nullptr).bytes() + 2 * ranks);
}

}  // namespace millrace::backend::cpu
