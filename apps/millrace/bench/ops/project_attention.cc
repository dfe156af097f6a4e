#include "bench/made_weights.h"
#include "bench/paged_keys.h"

namespace millrace::bench::ops {
namespace {

// What stands before attention, for the last `rows` tokens of one sequence: the weight of queries, keys and values has
// as many inputs as --shape.
void project_attention_cases_of_weight(const KernelSizes& sizes, const KernelContext& context,
                                       const quant::QuantFormat& format, std::int64_t hidden,
                                       const KernelSizes::Cache& cache, const std::function<void(KernelCase)>& visit) {
  const std::int64_t width = (sizes.heads + sizes.kv_heads) * sizes.head_dim + sizes.kv_heads * sizes.value_dim;
  std::vector<std::unique_ptr<backend::Linear>> weights;
  weights.push_back(made_weight(context, format, {.n = width, .k = hidden}, sizes.precision));
  const auto bytes = static_cast<double>(weights.front()->packed_bytes());
  for (std::int64_t i = copies_of(context, bytes, "shape"); i > 1; --i) {
    weights.push_back(made_weight(context, format, {.n = width, .k = hidden}, sizes.precision));
  }
  const std::vector<float> ones(static_cast<std::size_t>(hidden), 1.0f);
  const backend::DeviceVector norm = context.backend.make_vector(ones);
  std::size_t next = 0;
  for (const std::int64_t rows : sizes.rows) {
    PagedKeys keys(sizes, context, cache, 1, rows);
    const backend::SequenceRows sequence{
        .first_row = 0, .n_rows = rows, .first_position = 0, .pages = keys.pages_of(0)};
    const backend::DeviceBuffer x = random_matrix(context.backend, rows, hidden, 13);
    const backend::DeviceBuffer qkv = random_matrix(context.backend, rows, width, 14);
    const backend::DeviceBuffer cos_sin = random_matrix(context.backend, rows, sizes.head_dim, 16);
    KernelCase c;
    c.labels = {{"format", format.name},
                {"hidden", hidden},
                {"rows", rows},
                {"heads", sizes.heads},
                {"kv_heads", sizes.kv_heads},
                {"head_dim", sizes.head_dim},
                {"value_dim", sizes.value_dim},
                {"kernel", weights.front()->description()},
                {"weight_bytes", weights.front()->packed_bytes()}};
    c.labels.update(keys.labels());
    c.what = fmt::format("{} {}x{} to {}", format.name, width, hidden, keys.description());
    c.rows = rows;
    c.bytes = bytes;
    c.from_memory = true;
    c.operations = 2.0 * static_cast<double>(rows * width) * static_cast<double>(hidden);
    c.arithmetic = backend::arithmetic_of(weights.front()->description());
    c.run = [&] {
      backend::AttentionInputs inputs;
      inputs.norm.weight = norm.address();
      inputs.qkv = weights[next].get();
      inputs.heads = sizes.heads;
      inputs.cos_sin = matrix_view(cos_sin, rows, sizes.head_dim);
      inputs.sequences = std::span(&sequence, 1);
      inputs.kv = keys.next_layer();
      context.backend.project_attention(inputs, matrix_view(x, rows, hidden), matrix_view(qkv, rows, width));
      context.backend.synchronize();
      next = (next + 1) % weights.size();
    };
    visit(std::move(c));
  }
}

void project_attention_cases(const KernelSizes& sizes, const KernelContext& context,
                             const std::function<void(KernelCase)>& visit) {
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    for (const quant::QuantFormat* format : sizes.formats) {
      for (const KernelSizes::Cache& cache : sizes.caches) {
        project_attention_cases_of_weight(sizes, context, *format, shape.k, cache, visit);
      }
    }
  }
}

}  // namespace

KernelOp project_attention() {
  return {"project_attention",
          "attention input: norm, query, key and value projections, rotary embedding, writing the KV cache",
          project_attention_cases};
}

}  // namespace millrace::bench::ops
