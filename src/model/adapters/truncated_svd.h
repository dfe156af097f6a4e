#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/worker_team.h"

namespace millrace::model {

// left * right.
struct MatrixFactors {
  std::vector<float> left;   // [rows, rank]
  std::vector<float> right;  // [rank, cols]
};

// The nearest matrix of that rank, by its singular values, whose roots both factors have: randomized subspace iteration
// (Halko, Martinsson and Tropp, arXiv:0909.4061). `matrix` is [rows, cols], finite; rank is in [1, min(rows, cols)].
// The result depends on nothing but these, also not on the team.
MatrixFactors truncated_svd(std::span<const float> matrix, std::int64_t rows, std::int64_t cols, std::int64_t rank,
                            WorkerTeam& team);

// The squares of what the factors leave of the matrix, summed.
double squared_residual(std::span<const float> matrix, std::int64_t rows, std::int64_t cols,
                        const MatrixFactors& factors, WorkerTeam& team);

}  // namespace millrace::model
