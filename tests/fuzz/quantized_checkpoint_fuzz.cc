// A config.json, a byte 0 and a .safetensors file: every matrix of the checkpoint, quantized or not, is opened and
// read. Either works, or the error is a LoadError.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_env.h"
#include "model/weights/checkpoint_weights.h"

namespace {

using namespace millrace;

void read_all(const checkpoint::Checkpoint& checkpoint) {
  const model::CheckpointWeights weights(checkpoint);
  for (const model::MatrixInfo& matrix : weights.matrices()) {
    if (matrix.tensors.size() == 1) continue;  // plain ones, of which some have three dimensions
    const auto weight = weights.open(matrix.name, {.rows = matrix.rows, .cols = matrix.cols});
    for (const model::TensorRange& range : weight->ranges(0, matrix.rows)) {
      if (range.offset + range.bytes + (range.runs - 1) * range.stride > range.tensor->bytes) std::abort();
    }
    std::vector<std::byte> rows(weight->format->row_bytes(matrix.cols) * static_cast<std::size_t>(matrix.rows));
    weight->read(0, matrix.rows, rows);
    for (const std::int32_t column : weight->columns) {
      if (column < 0 || column >= matrix.cols) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::uint8_t* end = std::find(data, data + size, std::uint8_t{0});
  MemoryEnv env;
  env.files["d/config.json"].assign(data, end);
  if (end != data + size) env.files["d/model.safetensors"].assign(end + 1, data + size);
  const auto opened = checkpoint::open_checkpoint(env, "d");
  if (!opened) return 0;
  try {
    read_all(**opened);
  } catch (const LoadError&) {
  }
  return 0;
}
