// Weights stacked in one product whose columns come in different orders (WeightSource::columns).

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backend/cpu/testing/reference.h"
#include "backend/testing/test_backend.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kInputs = 96;

// A weight [rows, kInputs] of random bytes that mean small numbers, and the order of its columns; seed 0: as they are.
struct Part {
  const char* format;
  std::int64_t rows;
  unsigned order;

  WeightSource source() const {
    const quant::QuantFormat* kind = quant::find_format(format);
    const auto values = cpu::normal_values(static_cast<std::size_t>(rows * kInputs), static_cast<unsigned>(rows), 0.1f);
    std::vector<std::byte> bytes(kind->row_bytes(kInputs) * static_cast<std::size_t>(rows));
    kind->pack(values, bytes.data());
    WeightSource source{.name = format, .format = kind, .rows = rows, .cols = kInputs, .read = {}};
    source.read = [bytes, row_bytes = kind->row_bytes(kInputs)](std::int64_t first, std::int64_t,
                                                                std::span<std::byte> out) {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first) * static_cast<std::ptrdiff_t>(row_bytes),
                  out.size(), out.begin());
    };
    if (order == 0) return source;
    source.columns.resize(kInputs);
    std::iota(source.columns.begin(), source.columns.end(), 0);
    std::shuffle(source.columns.begin(), source.columns.end(), std::mt19937(order));
    return source;
  }
};

const std::vector<std::vector<Part>> kStacks = {
    {{"q4_0", 48, 1}, {"q4_0", 16, 2}, {"q4_0", 20, 3}},  // an order each
    {{"q4_0", 48, 1}, {"q8_0", 16, 1}, {"q4_0", 16, 0}},  // 4 bits beside 8 in one order, and one as it is
    {{"q4_0", 32, 4}, {"f16", 16, 0}, {"bf16", 16, 0}},   // what was left unquantized
    {{"f32", 16, 0}, {"q8_0", 40, 5}, {"q4_0", 16, 0}},
};

std::vector<float> product(Backend& backend, std::vector<WeightSource> sources, MatmulPrecision precision,
                           const DeviceView& x) {
  std::vector<WeightSource> stacked = std::move(sources);
  const auto weight = backend.make_linear(std::move(stacked), precision);
  const DeviceBuffer memory = backend.allocate(static_cast<std::size_t>(x.rows() * weight->n()) * 4).or_throw();
  const DeviceView out = memory.view(x.rows(), weight->n());
  backend.linear(*weight, {}, x, out);
  backend.synchronize();
  std::vector<float> values(static_cast<std::size_t>(x.rows() * weight->n()));
  backend.download(memory.address(), std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(ColumnOrder, AStackHasTheBitsOfItsParts) {
  for (const int threads : {1, 3}) {
    const auto backend = make_test_backend(threads);
    for (const std::int64_t rows : {1, 2, 3, 17, 100}) {
      const std::vector<float> input = cpu::normal_values(static_cast<std::size_t>(rows * kInputs), 9);
      const DeviceVector memory = backend->make_vector(input);
      const DeviceView x(memory.address(), DType::kF32, {rows, kInputs});
      for (const auto precision :
           {MatmulPrecision::kAuto, MatmulPrecision::kInt8x2, MatmulPrecision::kBf16, MatmulPrecision::kF32}) {
        for (const std::vector<Part>& parts : kStacks) {
          std::vector<WeightSource> sources;
          std::vector<float> expected;
          std::int64_t width = 0, column = 0;
          for (const Part& part : parts) sources.push_back(part.source()), width += part.rows;
          expected.resize(static_cast<std::size_t>(rows * width));
          for (const Part& part : parts) {
            const std::vector<float> alone = product(*backend, {part.source()}, precision, x);
            for (std::int64_t r = 0; r < rows; ++r) {
              std::copy_n(alone.begin() + r * part.rows, part.rows, expected.begin() + r * width + column);
            }
            column += part.rows;
          }
          EXPECT_TRUE(cpu::same_bits(product(*backend, sources, precision, x), expected))
              << parts.front().format << ", " << rows << " rows, precision " << static_cast<int>(precision);
        }
      }
    }
  }
}

// Rows of a table come back in the order of the matrix, whatever the order of a segment.
TEST(ColumnOrder, RowsAreGatheredAsTheMatrixHasThem) {
  const auto backend = make_test_backend(2);
  const std::vector<Part> parts = {{"f32", 16, 6}, {"f32", 20, 0}, {"f32", 24, 7}};
  std::vector<WeightSource> sources;
  std::vector<float> expected;
  std::vector<std::int32_t> ids;
  for (const Part& part : parts) {
    const WeightSource source = part.source();
    std::vector<float> stored(static_cast<std::size_t>(part.rows * kInputs));
    source.read(0, part.rows, std::as_writable_bytes(std::span(stored)));
    for (std::int64_t r = 0; r < part.rows; ++r) {
      std::vector<float> row(stored.begin() + r * kInputs, stored.begin() + (r + 1) * kInputs);
      for (std::size_t j = 0; j < source.columns.size(); ++j) {
        row[static_cast<std::size_t>(source.columns[j])] = stored[static_cast<std::size_t>(r * kInputs) + j];
      }
      expected.insert(expected.end(), row.begin(), row.end());
      ids.push_back(static_cast<std::int32_t>(ids.size()));
    }
    sources.push_back(source);
  }
  const auto weight = backend->make_linear(std::move(sources), MatmulPrecision::kF32);
  const DeviceBuffer memory = backend->allocate(expected.size() * sizeof(float)).or_throw();
  backend->gather(*weight, ids, {}, memory.view(std::ssize(ids), kInputs));
  backend->synchronize();
  std::vector<float> rows(expected.size());
  backend->download(memory.address(), std::as_writable_bytes(std::span(rows)));
  EXPECT_TRUE(cpu::same_bits(rows, expected));
}

}  // namespace
}  // namespace millrace::backend
