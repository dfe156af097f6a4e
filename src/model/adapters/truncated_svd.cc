#include "model/adapters/truncated_svd.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/check.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kMoreColumns = 10;  // than the rank, of the sampled subspace
constexpr int kIterations = 4, kMaxSweeps = 30;
constexpr double kOrthogonal = 1e-12, kNothing = 1e-10;

// k vectors of length n, one behind the other.
struct Vectors {
  std::int64_t n = 0, k = 0;
  std::vector<float> values;

  Vectors(std::int64_t length, std::int64_t count)
      : n(length), k(count), values(static_cast<std::size_t>(length * count)) {}
  float* at(std::int64_t i) noexcept { return values.data() + i * n; }
  const float* at(std::int64_t i) const noexcept { return values.data() + i * n; }
  // Number j of each, side by side: [n, k].
  std::vector<float> by_row() const {
    std::vector<float> rows(values.size());
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t j = 0; j < n; ++j) rows[static_cast<std::size_t>(j * k + i)] = at(i)[j];
    }
    return rows;
  }
};

double dot(const float* a, const float* b, std::int64_t n) noexcept {
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

void add(float factor, const float* from, std::int64_t n, float* to) noexcept {
  for (std::int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

// The matrix times each vector.
Vectors times(std::span<const float> matrix, std::int64_t rows, const Vectors& x, WorkerTeam& team) {
  const std::vector<float> by_row = x.by_row();
  std::vector<float> out(static_cast<std::size_t>(rows * x.k));
  team.split(rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t j = 0; j < x.n; ++j) {
        add(matrix[static_cast<std::size_t>(i * x.n + j)], by_row.data() + j * x.k, x.k, out.data() + i * x.k);
      }
    }
  });
  Vectors result(rows, x.k);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < x.k; ++c) result.at(c)[i] = out[static_cast<std::size_t>(i * x.k + c)];
  }
  return result;
}

// The transposed matrix times each vector.
Vectors transposed_times(std::span<const float> matrix, std::int64_t cols, const Vectors& x, WorkerTeam& team) {
  Vectors result(cols, x.k);
  team.split(cols, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < x.n; ++i) {
      const float* row = matrix.data() + i * cols + begin;
      for (std::int64_t c = 0; c < x.k; ++c) add(x.at(c)[i], row, end - begin, result.at(c) + begin);
    }
  });
  return result;
}

// Makes them orthonormal, by Gram and Schmidt, twice. Those that depend on others become zeros.
void orthonormalize(Vectors& x) {
  for (std::int64_t i = 0; i < x.k; ++i) {
    const double before = std::sqrt(dot(x.at(i), x.at(i), x.n));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t j = 0; j < i; ++j) {
        add(-static_cast<float>(dot(x.at(j), x.at(i), x.n)), x.at(j), x.n, x.at(i));
      }
    }
    const double length = std::sqrt(dot(x.at(i), x.at(i), x.n));
    const float factor = length > kNothing * before && length > 0.0 ? static_cast<float>(1.0 / length) : 0.0f;
    for (std::int64_t j = 0; j < x.n; ++j) x.at(i)[j] *= factor;
  }
}

// (x, y) turned by the angle.
void turn(float* x, float* y, std::int64_t n, double cosine, double sine) noexcept {
  const auto c = static_cast<float>(cosine), s = static_cast<float>(sine);
  for (std::int64_t i = 0; i < n; ++i) {
    const float a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

// Turns the vectors in pairs until they are orthogonal (Jacobi, from one side), and others by the same angles.
void diagonalize(Vectors& b, Vectors& q) {
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool turned = false;
    for (std::int64_t i = 0; i < b.k; ++i) {
      for (std::int64_t j = i + 1; j < b.k; ++j) {
        const double aa = dot(b.at(i), b.at(i), b.n), bb = dot(b.at(j), b.at(j), b.n), ab = dot(b.at(i), b.at(j), b.n);
        if (ab * ab <= kOrthogonal * aa * bb || ab == 0.0) continue;
        const double zeta = (bb - aa) / (2.0 * ab);
        const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::sqrt(1.0 + zeta * zeta));
        const double cosine = 1.0 / std::sqrt(1.0 + tangent * tangent);
        turn(b.at(i), b.at(j), b.n, cosine, cosine * tangent);
        turn(q.at(i), q.at(j), q.n, cosine, cosine * tangent);
        turned = true;
      }
    }
    if (!turned) return;
  }
}

}  // namespace

MatrixFactors truncated_svd(std::span<const float> matrix, std::int64_t rows, std::int64_t cols, std::int64_t rank,
                            WorkerTeam& team) {
  CHECK(rank >= 1 && rank <= std::min(rows, cols));
  const std::int64_t k = std::min(rank + kMoreColumns, std::min(rows, cols));
  Vectors sample(cols, k);
  std::mt19937_64 random(1);
  for (float& value : sample.values) value = static_cast<float>(random() >> 40) / 8388608.0f - 1.0f;
  Vectors q = times(matrix, rows, sample, team);
  orthonormalize(q);
  for (int i = 0; i < kIterations; ++i) {
    Vectors z = transposed_times(matrix, cols, q, team);
    orthonormalize(z);
    q = times(matrix, rows, z, team);
    orthonormalize(q);
  }
  Vectors b = transposed_times(matrix, cols, q, team);  // the matrix is about the sum of q_i b_i
  diagonalize(b, q);
  std::vector<double> sizes;
  for (std::int64_t i = 0; i < k; ++i) sizes.push_back(std::sqrt(dot(b.at(i), b.at(i), cols)));
  std::vector<std::int64_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::int64_t i) { return sizes[static_cast<std::size_t>(i)]; });
  MatrixFactors factors{.left = std::vector<float>(static_cast<std::size_t>(rows * rank)),
                        .right = std::vector<float>(static_cast<std::size_t>(rank * cols))};
  for (std::int64_t r = 0; r < rank; ++r) {
    const std::int64_t i = order[static_cast<std::size_t>(r)];
    const double root = std::sqrt(sizes[static_cast<std::size_t>(i)]);
    const auto left = static_cast<float>(root), right = static_cast<float>(root > 0.0 ? 1.0 / root : 0.0);
    for (std::int64_t j = 0; j < rows; ++j) factors.left[static_cast<std::size_t>(j * rank + r)] = left * q.at(i)[j];
    for (std::int64_t j = 0; j < cols; ++j) factors.right[static_cast<std::size_t>(r * cols + j)] = right * b.at(i)[j];
  }
  return factors;
}

double squared_residual(std::span<const float> matrix, std::int64_t rows, std::int64_t cols,
                        const MatrixFactors& factors, WorkerTeam& team) {
  const std::int64_t rank = std::ssize(factors.left) / rows;
  std::vector<double> sums(static_cast<std::size_t>(rows));
  team.split(rows, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> rest(static_cast<std::size_t>(cols));
    for (std::int64_t i = begin; i < end; ++i) {
      std::copy_n(matrix.data() + i * cols, cols, rest.data());
      for (std::int64_t r = 0; r < rank; ++r) {
        add(-factors.left[static_cast<std::size_t>(i * rank + r)], factors.right.data() + r * cols, cols, rest.data());
      }
      sums[static_cast<std::size_t>(i)] = dot(rest.data(), rest.data(), cols);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace millrace::model
