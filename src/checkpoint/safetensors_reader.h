#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/integer_tensor.h"

namespace millrace::checkpoint {

inline constexpr std::uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;  // the limit of the format's own library

// The tensor directory of one .safetensors file, sorted by offset, with absolute offsets and RawTensor::file = 0. Sizes
// are checked for overflow; the data must cover the rest of the file exactly, without holes or overlaps; names must be
// unique; dtypes must be weight formats. Integer tensors go to `integers`; without it they are an error. Throws
// LoadError. https://github.com/huggingface/safetensors#format
std::vector<RawTensor> read_safetensors_header(const RandomAccessFile& file,
                                               std::vector<IntegerTensor>* integers = nullptr);
// The texts that the header has besides tensors, by name. Throws LoadError.
std::map<std::string, std::string> read_safetensors_metadata(const RandomAccessFile& file);

}  // namespace millrace::checkpoint
