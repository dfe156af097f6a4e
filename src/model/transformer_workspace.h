#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "model/adapters/step_adapters.h"
#include "model/batch_input.h"
#include "model/block.h"

namespace millrace::model {

class WeightLoader;

// Activations of one step, [rows, columns] f32 each, grown when a larger step comes.
struct TransformerWorkspace {
  std::int64_t columns = 0, rows = 0;  // of memory
  std::vector<std::int32_t> positions, table_rows, owners;
  backend::DeviceBuffer memory;
  BlockRows layer;
  std::vector<backend::DeviceView> cos_sin;
  backend::DeviceView embedded;  // [T, size of embeddings], where that is not the layers'
  std::vector<backend::SequenceRows> window_sequences;
  StepAdapters adapters;
  std::int64_t logit_rows = 0;
  backend::DeviceBuffer logits_memory;
  backend::HostView logits;           // of the last step
  backend::DeviceBuffer sink_memory;  // of kSinkRows logits or hidden states, from the first step on that has a sink
  backend::DeviceBuffer projected_memory;  // of rows before the head, where embeddings are of another size

  // Memory for kSinkRows rows, if it is not there. Throws LoadError (kResourceExhausted).
  void reserve_sink(backend::Backend& backend, const ModelSpec& spec) {
    if (sink_memory.size() > 0) return;
    const std::int64_t widest = std::max(spec.vocab_size, spec.hidden_size);
    sink_memory = backend.allocate(static_cast<std::size_t>(kSinkRows * widest) * sizeof(float)).or_throw();
  }
};

// The weights of a model's head, and a checksum of rows.
backend::WeightSource head_source(WeightLoader& loader, const ModelSpec& spec);
std::uint64_t key_of_rows(backend::Backend& backend, const backend::DeviceView& rows);

}  // namespace millrace::model
