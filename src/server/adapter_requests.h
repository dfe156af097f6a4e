#pragma once

#include "server/pooled_reply.h"
#include "server/route.h"
#include "server/schema.h"

namespace millrace::server {

// The fields of requests about an adapter; clients spell them as vLLM does, and `pinned`.
struct AdapterFields {
  std::string name, path;
  bool in_place = false, pinned = false;
};

const Schema<AdapterFields>& load_adapter_schema();
const Schema<AdapterFields>& unload_adapter_schema();
// Functions for answer_later(). The replies are vLLM's plain texts, with the header x-lora-generation after a load.
// Loads an adapter for the first model, or the one whose name the adapter's has in front: "model:adapter". 400 naming
// lora_name where something has that name already, unless it is an adapter to be replaced; 409 where there is no room.
void load_adapter(ServerContext& server, const Call& call, const Answered& done);
// Forgets it; requests that have it keep it. 404 naming lora_name.
void unload_adapter(ServerContext& server, const Call& call, const Answered& done);

}  // namespace millrace::server
