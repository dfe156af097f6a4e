#include "server/model_fields.h"

#include "server/limits.h"

namespace millrace::server {

const Schema<ModelFields>& model_schema() {
  static const Schema<ModelFields> made = [] {
    Schema<ModelFields> s;
    s.string(
        "model", [](ModelFields& f) -> auto& { return f.model; }, RequestLimits::kNameLength,
        "Name of a model that GET /v1/models lists");
    s.required("model");
    return s;
  }();
  return made;
}

}  // namespace millrace::server
