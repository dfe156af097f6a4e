#pragma once

#include "model/synth/synth_model.h"
#include "model/synth/synth_shape.h"

namespace millrace::model {

// Lays out a model. Matrices whose rows are no whole blocks of the format are stored as q8_0, or as f16 if these do not
// fit either. kInvalidArgument for a format that the container cannot store.
Result<SynthModel> plan_synth(const SynthShape& shape, checkpoint::Checkpoint::Container container,
                              SynthOptions options);

}  // namespace millrace::model
