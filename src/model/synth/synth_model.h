#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/worker_team.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_metadata.h"
#include "checkpoint/tensor_writing.h"
#include "model/config/model_config.h"
#include "model/synth/synth_shape.h"

// Models of random weights: the right names, shapes, formats and sizes of numbers, for tests and for measuring speed
// where the text does not matter.

namespace millrace::model {

// A tokenizer to put into a model: the tokenizer.* keys of a GGUF file. Empty = none.
struct SynthTokenizer {
  std::vector<checkpoint::GgufEntry> entries;
  std::int64_t tokens = 0;
};
// kUnsupported for a file that is not GGUF.
Result<SynthTokenizer> read_synth_tokenizer(Env& env, const std::string& gguf_path);

struct SynthOptions {
  const quant::QuantFormat* format = nullptr;  // of matrices; vectors are f32
  std::uint64_t seed = 0;
  SynthTokenizer tokenizer;
};

// Where the values of one tensor come from. Weights depend on the seed and on the tensor's place in the model, not on
// format, container, names or threads: two files of one seed hold the same model, rounded differently.
struct SynthTensor {
  checkpoint::TensorSpec spec;
  std::string stream;          // names the random numbers; empty = all ones (norms)
  float deviation = 0.0f;      // of the normal distribution
  std::int64_t pair_rows = 0;  // head_dim where the file keeps rotary pairs as adjacent rows, else 0
};

struct SynthModel {
  checkpoint::Checkpoint::Container container = checkpoint::Checkpoint::Container::kGguf;
  ModelConfig config;
  SynthOptions options;
  std::vector<SynthTensor> tensors;
  std::string heads_config;  // of heads: their config.json, the only file beside the tensors; `config` is empty then

  std::uint64_t bytes() const noexcept;  // of all tensors
  std::int64_t parameters() const noexcept;
};

// Lays out a model. Rows that are not whole blocks of the format are kept as q8_0, or f16 where those do not fit
// either. kInvalidArgument for a format that cannot be written (in this container).
Result<SynthModel> plan_synth(const SynthShape& shape, checkpoint::Checkpoint::Container container,
                              SynthOptions options);

// Writes it: `path` is the file, or for safetensors the directory, which is created. `progress` gets the bytes of
// tensor data written so far, on the calling thread. Memory: some MiB a thread.
Result<void> write_synth(const SynthModel& model, const std::string& path, WorkerTeam& team,
                         const std::function<void(std::uint64_t bytes)>& progress = {});

}  // namespace millrace::model
