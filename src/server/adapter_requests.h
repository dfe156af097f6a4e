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
// Loads an adapter for the first model, or the one whose name the adapter's has in front: "model:adapter".
// kInvalidArgument naming lora_name where something has that name already, unless it is an adapter to be replaced.
Result<Json> load_adapter(ServerContext& server, const Call& call, const AdapterFields& fields);
// Forgets it; requests that have it keep it. kNotFound naming lora_name.
Result<Json> unload_adapter(ServerContext& server, const Call& call, const AdapterFields& fields);

}  // namespace millrace::server
