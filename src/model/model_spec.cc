#include "model/model_spec.h"

namespace millrace::model {

std::string WeightNames::in_file(const std::string& name) const {
  for (const auto& [ours, theirs] : renamed) {
    if (name.starts_with(ours)) return theirs + name.substr(ours.size());
  }
  return name;
}

}  // namespace millrace::model
