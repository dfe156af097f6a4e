#pragma once

#include <cstdint>
#include <vector>

#include "base/env.h"
#include "checkpoint/integer_tensor.h"

namespace millrace::checkpoint {

inline constexpr std::uint64_t kTorchMaxPickleBytes = 16 << 20;  // names and shapes; 100 to 300 bytes a tensor
inline constexpr int kTorchMaxSharing = 4;                       // tensors that are the same bytes

// The tensor directory of one file of torch.save (1.6 and later: a zip file of a pickle and of storages), sorted by
// offset; RawTensor::file = 0, offsets absolute. The file must hold one dictionary of names and tensors, a state dict.
// Nothing in it is run: its pickle is read as data, and what is more than tensors is refused by name (pickle_reader.h).
// Checked: every storage to have the bytes that its tensors need, tensors to be dense and either apart from each other
// or the very same bytes, as tied weights are; no name twice, dtypes that are weight formats. Integers go to
// `integers`; without it they are refused. Throws LoadError: also for files of torch before 1.6 and for TorchScript,
// saying how to convert them.
std::vector<RawTensor> read_torch_file(const RandomAccessFile& file, std::vector<IntegerTensor>* integers = nullptr);

}  // namespace millrace::checkpoint
