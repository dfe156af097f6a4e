#pragma once

#include "server/route.h"
#include "server/schema.h"

namespace millrace::server {

// The fields of requests about an adapter; clients spell them lora_name, lora_path and load_inplace as vLLM does.
struct AdapterFields {
  std::string name, path;
  bool in_place = false;
};

const Schema<AdapterFields>& load_adapter_schema();
const Schema<AdapterFields>& unload_adapter_schema();
// Rejects every request about an adapter, however right it is: this server has no adapters.
Result<Json> reject_adapter(ServerContext& server, const Call& call, const AdapterFields& fields);

}  // namespace millrace::server
