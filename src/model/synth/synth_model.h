#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/worker_team.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_metadata.h"
#include "checkpoint/tensor_writing.h"
#include "model/config/model_config.h"
#include "model/synth/synth_shape.h"

// Models of random weights, with correct names, shapes, formats and magnitudes, for tests and for measuring speed.

namespace millrace::model {

// A tokenizer to put into a model: the tokenizer.* entries of a GGUF file. Empty = none.
struct SynthTokenizer {
  std::vector<checkpoint::GgufEntry> entries;
  std::int64_t tokens = 0;
};
// Reads the tokenizer of a GGUF file. kUnsupported for other files.
Result<SynthTokenizer> read_synth_tokenizer(Env& env, const std::string& gguf_path);

// Whether matrices can be written so: rounded, or, in formats that are only read, as random codes.
bool can_synthesize(const quant::QuantFormat& format);

struct SynthOptions {
  const quant::QuantFormat* format = nullptr;  // of matrices, one that can_synthesize(); vectors are f32
  std::uint64_t seed = 0;
  SynthTokenizer tokenizer;
};

// How the values of one tensor are made. They depend on the seed and on the tensor's place in the model, not on format,
// container, names or threads: two files of one seed hold the same model, rounded differently. Formats that are only
// read are the exception: their codes are random, so that each has values of its own, of the same deviation.
struct SynthTensor {
  checkpoint::TensorSpec spec;
  std::string stream;  // name of the stream of random numbers; empty = all values are `constant` (norms)
  float constant = 1.0f;
  float deviation = 0.0f;      // standard deviation of the normal distribution
  std::int64_t first_row = 0;  // of the stream: tensors of experts share one
  std::int64_t pair_rows = 0;  // head_dim if the file stores rotary pairs as adjacent rows, all of a head, else 0
};

struct SynthModel {
  checkpoint::Checkpoint::Container container = checkpoint::Checkpoint::Container::kGguf;
  std::string family;
  ModelConfig config;
  nlohmann::json further = nlohmann::json::object();  // SynthShape::json or gguf
  SynthOptions options;
  std::vector<SynthTensor> tensors;
  // Only for trained heads: their config.json, the only file besides the tensors; `config` is empty then.
  std::string heads_config;

  std::uint64_t bytes() const noexcept;  // of all tensors
  std::int64_t parameters() const noexcept;
};

// Writes the model to `path`: a file or, for safetensors, a directory, which is created. `progress` gets the bytes of
// tensors written so far, on the calling thread. Takes some MiB per thread.
Result<void> write_synth(const SynthModel& model, const std::string& path, WorkerTeam& team,
                         const std::function<void(std::uint64_t bytes)>& progress = {});

}  // namespace millrace::model
