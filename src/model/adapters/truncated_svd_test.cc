#include "model/adapters/truncated_svd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace millrace::model {
namespace {

struct Size {
  std::int64_t rows, cols, rank;
};

// U diag(sizes) V^T with orthonormal columns of U and V: cosines of a discrete Fourier basis.
std::vector<float> matrix_with(const Size& size, const std::vector<double>& sizes) {
  const auto basis = [](std::int64_t n, std::int64_t i, std::int64_t k) {
    const double angle = M_PI * (static_cast<double>(i) + 0.5) * static_cast<double>(k) / static_cast<double>(n);
    return std::cos(angle) * std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(n));
  };
  std::vector<float> matrix(static_cast<std::size_t>(size.rows * size.cols));
  for (std::int64_t i = 0; i < size.rows; ++i) {
    for (std::int64_t j = 0; j < size.cols; ++j) {
      double value = 0.0;
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        const auto column = static_cast<std::int64_t>(k);
        value += sizes[k] * basis(size.rows, i, column) * basis(size.cols, j, column);
      }
      matrix[static_cast<std::size_t>(i * size.cols + j)] = static_cast<float>(value);
    }
  }
  return matrix;
}

double squares(const std::vector<double>& sizes, std::size_t first) {
  double sum = 0.0;
  for (std::size_t i = first; i < sizes.size(); ++i) sum += sizes[i] * sizes[i];
  return sum;
}

TEST(TruncatedSvd, LeavesTheSmallestSingularValues) {
  WorkerTeam team(2);
  for (const Size& size : {Size{40, 70, 5}, {70, 40, 5}, {64, 64, 12}, {3, 50, 2}, {33, 17, 1}}) {
    std::vector<double> sizes;
    for (std::int64_t i = 0; i < std::min(size.rows, size.cols); ++i) {
      sizes.push_back(3.0 * std::pow(0.8, static_cast<double>(i)));
    }
    const std::vector<float> matrix = matrix_with(size, sizes);
    const MatrixFactors factors = truncated_svd(matrix, size.rows, size.cols, size.rank, team);
    const double left = squared_residual(matrix, size.rows, size.cols, factors, team);
    const double least = squares(sizes, static_cast<std::size_t>(size.rank));
    EXPECT_LE(left, least * 1.001) << size.rows << "x" << size.cols;
    EXPECT_GE(left, least * 0.999) << size.rows << "x" << size.cols;
  }
}

TEST(TruncatedSvd, GivesAMatrixOfThatRankBack) {
  WorkerTeam team(1);
  for (const Size& size : {Size{200, 300, 4}, {300, 96, 16}, {8, 8, 8}, {1, 9, 1}}) {
    const std::vector<double> sizes(static_cast<std::size_t>(size.rank), 2.0);  // all equal
    const std::vector<float> matrix = matrix_with(size, sizes);
    const MatrixFactors factors = truncated_svd(matrix, size.rows, size.cols, size.rank, team);
    EXPECT_LE(std::sqrt(squared_residual(matrix, size.rows, size.cols, factors, team) / squares(sizes, 0)), 1e-5);
  }
}

TEST(TruncatedSvd, DoesNotDependOnTheTeam) {
  WorkerTeam one(1), three(3);
  const Size size{90, 130, 6};
  const std::vector<float> matrix = matrix_with(size, {5, 4, 3, 2, 1, 0.5, 0.4, 0.3});
  const MatrixFactors a = truncated_svd(matrix, size.rows, size.cols, size.rank, one);
  const MatrixFactors b = truncated_svd(matrix, size.rows, size.cols, size.rank, three);
  EXPECT_EQ(a.left, b.left);
  EXPECT_EQ(a.right, b.right);
}

TEST(TruncatedSvd, OfZerosIsZeros) {
  WorkerTeam team(1);
  const std::vector<float> matrix(60, 0.0f);
  const MatrixFactors factors = truncated_svd(matrix, 6, 10, 3, team);
  EXPECT_EQ(squared_residual(matrix, 6, 10, factors, team), 0.0);
  for (const float value : factors.left) EXPECT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace millrace::model
