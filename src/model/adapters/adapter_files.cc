#include "model/adapters/adapter_files.h"

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::model {

void index_tensors(checkpoint::Checkpoint& tensors) {
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    const std::string& name = tensors.tensors[i].name;
    if (tensors.tensor_index.emplace(name, i).second) continue;
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {}: another one is of the same weight", tensors.path,
                     checkpoint::quote_name(name));
  }
}

}  // namespace millrace::model
