#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/importance_matrix.h"
#include "model/model_spec.h"

namespace millrace::model {

// Whether an importance matrix is of this model: kInvalidArgument names the first entry that belongs to no weight, or
// has another length. Entries of the embedding and the head, which loading does not search scales for, are taken. Logs
// for how many matrices there is one.
Result<void> check_importance(const checkpoint::ImportanceMatrix& matrix, const checkpoint::Checkpoint& checkpoint,
                              const ModelSpec& spec);

}  // namespace millrace::model
