#include "model/importance_check.h"

#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/quote_name.h"
#include "model/matrix_places.h"
#include "model/weight_importance.h"

namespace millrace::model {

Result<void> check_importance(const checkpoint::ImportanceMatrix& matrix, const checkpoint::Checkpoint& checkpoint,
                              const ModelSpec& spec) {
  const WeightLoader loader(checkpoint, spec);
  std::set<std::string> taken = {"token_embd.weight", "output.weight"};
  std::size_t weights = 0, weighted = 0;
  for (const MatrixPlace& place : matrix_places(spec, loader)) {
    if (place.weight.cols == 0) continue;
    try {
      weighted += importance_of(matrix, place.name, place.weight) != nullptr ? 1 : 0;
    } catch (const LoadError& e) {
      return e.error();
    }
    ++weights;
    for (std::string& name : importance_entries(place.name, place.weight)) taken.insert(std::move(name));
  }
  for (const auto& [name, means] : matrix.means) {
    if (taken.contains(name) || checkpoint.find(name) != nullptr) continue;
    return make_error(ErrorCode::kInvalidArgument, "imatrix", "{}: tensor {} is none of {}, {} of {} layers",
                      matrix.path, checkpoint::quote_name(name), checkpoint.path, spec.family, spec.layers.size());
  }
  log::info("{}: an importance matrix of {} entries, for {} of {} matrices", matrix.path, matrix.means.size(), weighted,
            weights);
  return {};
}

}  // namespace millrace::model
