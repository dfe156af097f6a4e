#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace millrace::backend {

// Rows from row `first` on of a source's matrix, or of one of its experts' matrices, as products see them, f32 [rows,
// cols]: multiplied with their expert's factor, and with their columns in the order of x. Throws what reading throws.
void source_rows(const WeightSource& source, std::int64_t first, std::span<float> values);
// One of them.
std::vector<float> source_row(const WeightSource& source, std::int64_t row);
// All rows of its matrix, or of that of an expert, one behind the other.
std::vector<float> source_values(const WeightSource& source, std::int64_t expert = 0);

}  // namespace millrace::backend
