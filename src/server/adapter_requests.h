#pragma once

#include "server/route.h"
#include "server/schema.h"

namespace millrace::server {

// What is said of an adapter, under vLLM's names.
struct AdapterFields {
  std::string name, path;
  bool in_place = false;
};

const Schema<AdapterFields>& load_adapter_schema();
const Schema<AdapterFields>& unload_adapter_schema();
// There are no adapters yet: a request that is right is refused all the same.
Result<Json> reject_adapter(ServerContext& server, const Call& call, const AdapterFields& fields);

}  // namespace millrace::server
