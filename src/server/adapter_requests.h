#pragma once

#include "server/route.h"
#include "server/schema.h"

namespace millrace::server {

// The fields of requests that load or unload a LoRA adapter, under vLLM's names.
struct AdapterFields {
  std::string name, path;
  bool in_place = false;
};

const Schema<AdapterFields>& load_adapter_schema();
const Schema<AdapterFields>& unload_adapter_schema();
// The error for every valid request: adapters are not supported yet.
Result<Json> reject_adapter(ServerContext& server, const Call& call, const AdapterFields& fields);

}  // namespace millrace::server
