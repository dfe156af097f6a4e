#pragma once

#include <cstdint>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/integer_tensor.h"

namespace millrace::checkpoint {

inline constexpr std::uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;  // the limit of the format's own library

// The tensor directory of one .safetensors file, sorted by offset; RawTensor::file = 0, offsets absolute. Checked:
// sizes against overflow, data that tile the rest of the file exactly (no hole, no overlap, nothing behind), no name
// twice, dtypes that are weight formats. Integers go to `integers`; without it they are refused. Throws LoadError.
// https://github.com/huggingface/safetensors#format
std::vector<RawTensor> read_safetensors_header(const RandomAccessFile& file,
                                               std::vector<IntegerTensor>* integers = nullptr);

}  // namespace millrace::checkpoint
