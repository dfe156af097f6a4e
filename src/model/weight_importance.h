#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/importance_matrix.h"
#include "model/block.h"

namespace millrace::model {

// How much errors in a matrix's columns count: [cols], or [experts, cols]. Null: nothing is known of them.
using ColumnImportance = std::shared_ptr<const std::vector<float>>;

// The importance of the weight that is the tensor `name` of a spec, whatever the model's files are: entries are found
// by the weight's layer and its role, which are the names in GGUF. Weights that read the same input share an entry, if
// only one of them has it. The columns are in the order of the loaded weight, its columns of zeros included. Throws
// LoadError naming file, tensor and both lengths if an entry's length is another.
ColumnImportance importance_of(const checkpoint::ImportanceMatrix& matrix, const std::string& name,
                               const BlockWeight& weight);

// Names of the entries that may belong to that weight, its own first.
std::vector<std::string> importance_entries(const std::string& name, const BlockWeight& weight);

}  // namespace millrace::model
