#include "server/limits.h"
#include "server/route.h"
#include "server/schema.h"
#include "server/service.h"

namespace millrace::server::routes {
namespace {

struct Fields {
  std::string name, path;
  bool in_place = false;
};

const Schema<Fields>& schema() {
  static const Schema<Fields> made = [] {
    Schema<Fields> s;
    s.string(
        "lora_name", [](Fields& f) -> auto& { return f.name; }, RequestLimits::kNameLength,
        "What requests name it by, as their model");
    s.string("lora_path", [](Fields& f) -> auto& { return f.path; }, RequestLimits::kPathLength, "Where its files lie");
    s.boolean("load_inplace", [](Fields& f) -> auto& { return f.in_place; }, "Replace the one of that name");
    s.required("lora_name");
    s.required("lora_path");
    return s;
  }();
  return made;
}

Result<Json> refuse(Service&, const Call& call) {
  auto body = parse_json(call.request.body);
  if (!body) return body.error();
  Fields fields;
  std::vector<std::string> unknown;
  if (auto fine = schema().read(*body, fields, unknown); !fine) return fine.error();
  return make_error(ErrorCode::kUnsupported, "lora_name", "this server has no adapters: they are not yet supported");
}

}  // namespace

// vLLM's name and fields. Adapters are not there yet: a request that is right is refused by name.
Route load_lora_adapter() {
  return {.method = "POST",
          .path = "/v1/load_lora_adapter",
          .scope = Scope::kAdmin,
          .summary = "Load an adapter: not yet supported, refused",
          .handle = [](Service& service, Call call) { return answer_json<refuse>(service, std::move(call)); },
          .body_schema = [] { return schema().json(); }};
}

}  // namespace millrace::server::routes
