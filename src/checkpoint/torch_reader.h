#pragma once

#include <cstdint>
#include <vector>

#include "base/env.h"
#include "checkpoint/integer_tensor.h"

namespace millrace::checkpoint {

inline constexpr std::uint64_t kTorchMaxPickleBytes = 16 << 20;  // names and shapes; 100 to 300 bytes per tensor
inline constexpr int kTorchMaxSharing = 4;                       // limit of tensors with the same bytes

// The tensor directory of one file of torch.save (1.6 and later: a zip file with a pickle and storages), sorted by
// offset, with absolute offsets and RawTensor::file = 0. The file must hold one state dict, a dictionary of names and
// tensors. Nothing in it is executed: the pickle is read as data, and other content is an error that names it
// (pickle_reader.h). Every storage must have the bytes that its tensors need. Tensors must be dense, and either not
// overlap or be the very same bytes, as tied weights are. Names must be unique, and dtypes weight formats. Integer
// tensors go to `integers`; without it they are an error. Throws LoadError; for TorchScript and files of torch before
// 1.6 it tells how to convert them.
std::vector<RawTensor> read_torch_file(const RandomAccessFile& file, std::vector<IntegerTensor>* integers = nullptr);

}  // namespace millrace::checkpoint
