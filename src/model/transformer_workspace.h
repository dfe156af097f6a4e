#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "model/adapters/step_adapters.h"
#include "model/batch_input.h"
#include "model/block.h"

namespace millrace::model {

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
};

}  // namespace millrace::model
