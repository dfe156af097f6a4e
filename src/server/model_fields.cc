#include "server/model_fields.h"

#include "server/limits.h"

namespace millrace::server {

const Schema<ModelFields>& model_schema() {
  static const Schema<ModelFields> made = [] {
    Schema<ModelFields> s;
    const Json shape = {{"type", "string"}, {"minLength", 1}, {"maxLength", RequestLimits::kNameLength}};
    s.field("model", "Name of a model that GET /v1/models lists", shape,
            [shape](ModelFields& to, const Json& value) -> Result<void> {
              if (!has_shape(value, shape) || value.get_ref<const std::string&>().empty()) {
                return make_error(ErrorCode::kInvalidArgument, "model", "model must be a name of 1 to {} characters",
                                  RequestLimits::kNameLength);
              }
              to.model = value.get<std::string>();
              return {};
            });
    s.required("model");
    return s;
  }();
  return made;
}

Result<ModelFields> read_model_fields(const ServerContext& server, const Call& call) {
  const auto body = parse_json(call.request.body);
  if (!body) return body.error();
  ModelFields fields;
  FieldNotes notes;
  if (auto fine = model_schema().read(*body, fields, notes); !fine) return fine.error();
  if (server.config.strict_params && notes.unknown > 0) {
    return Error{ErrorCode::kInvalidArgument, "", "the body has fields that this route does not know"};
  }
  return fields;
}

}  // namespace millrace::server
