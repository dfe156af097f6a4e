#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace millrace::backend {

// Row `row` of a source's matrices as products see it, f32 [cols]: multiplied with its expert's factor, and with its
// columns in the order of x. Throws what reading throws.
std::vector<float> source_row(const WeightSource& source, std::int64_t row);
// All rows of its matrix, or of that of an expert, one behind the other.
std::vector<float> source_values(const WeightSource& source, std::int64_t expert = 0);

}  // namespace millrace::backend
