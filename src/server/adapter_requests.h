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
// There are no adapters yet: what is wrong with the request, or that it is right and refused all the same.
Error refuse_adapter(const Call& call, const Schema<AdapterFields>& schema);

}  // namespace millrace::server
