#include "server/adapter_requests.h"

#include "server/limits.h"

namespace millrace::server {
namespace {

using L = RequestLimits;

Schema<AdapterFields> named(const char* about) {
  Schema<AdapterFields> s;
  s.string("lora_name", [](AdapterFields& f) -> auto& { return f.name; }, L::kNameLength, about);
  s.required("lora_name");
  return s;
}

}  // namespace

const Schema<AdapterFields>& load_adapter_schema() {
  static const Schema<AdapterFields> made = [] {
    Schema<AdapterFields> s = named("What requests name it by, as their model");
    s.string("lora_path", [](AdapterFields& f) -> auto& { return f.path; }, L::kPathLength, "Where its files lie");
    s.boolean("load_inplace", [](AdapterFields& f) -> auto& { return f.in_place; }, "Replace the one of that name");
    s.required("lora_path");
    return s;
  }();
  return made;
}

const Schema<AdapterFields>& unload_adapter_schema() {
  static const Schema<AdapterFields> made = named("The adapter's name");
  return made;
}

Result<Json> reject_adapter(ServerContext&, const Call&, const AdapterFields&) {
  return make_error(ErrorCode::kUnsupported, "lora_name", "this server has no adapters: they are not yet supported");
}

}  // namespace millrace::server
