#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backend/backend.h"
#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/adapter_options.h"
#include "model/adapters/rounding_error.h"

namespace millrace::model {

// An adapter to merge: the weights become W + scale * B A.
struct ScaledAdapter {
  std::string path;
  double scale = 1.0;
};

struct Merged {
  std::int64_t adapters = 0;
  std::int64_t tensors = 0;  // of the base that adapters change
  std::shared_ptr<const RoundingError> error;
};

// The format in which a tensor of the base is to be read; null: as it is stored.
using TensorFormats = std::function<const quant::QuantFormat*(const checkpoint::RawTensor& tensor)>;

struct MergeOptions {
  TensorFormats formats = {};
  LayerReplication layers = {};  // of the base (ReshapedBase::layers)
};

// Makes the checkpoint one of the base with the adapters merged into it. Its tensors read as W + the sum of scale * B
// A, computed in f32 when they are read, and rounded to the format of the tensor. Rows that no adapter changes keep
// their bits, where the format stays. A head that is tied to the embedding becomes a tensor of its own, if an adapter
// changes it. Checkpoint::merged says what was merged.
//
// Vectors of the base that an adapter has whole, such as norms in `modules_to_save`, are merged too, in safetensors.
//
// `backend`: any of the CPU. Throws LoadError, and the checkpoint is as it was: errors of AdapterLoader::load(), and
// kUnsupported naming the tensor that an adapter changes, if it is stored in several (AWQ, FP8) or in a format that
// nothing here writes.
Merged merge_adapters(Env& env, checkpoint::Checkpoint& base, std::unique_ptr<backend::Backend> backend,
                      std::span<const ScaledAdapter> adapters, const MergeOptions& options = {});

}  // namespace millrace::model
