#pragma once

#include <memory>

#include "server/generation.h"
#include "server/route.h"

namespace millrace::server {

// Answers a request that generates, whole or as a stream: counts it against the tenant's quota, prepares it on the prep
// pool, waits for its model and submits it to the engine. Called on a connection's thread; does not block. `server` and
// `route` must outlive every request.
std::unique_ptr<http::Responder> generate(ServerContext& server, const GenerationRoute& route, Call call);

// Answers a request with its prompt alone, made on the prep pool. Its model must be loaded: 503 otherwise, and 404 for
// an unknown name. Called on a connection's thread; does not block.
std::unique_ptr<http::Responder> answer_prompt(ServerContext& server, const PromptRoute& route, Call call);

// The only object of a class without state, made at the first call.
template <typename Kind>
const Kind& the_one() {
  static const Kind one;
  return one;
}

// A function for Route::reader.
template <typename Kind>
const TaskReader& task_reader() {
  return the_one<Kind>();
}

// Functions for Route::handle: of a GenerationRoute, and of a PromptRoute.
template <typename Kind>
std::unique_ptr<http::Responder> generation_route(ServerContext& server, Call call) {
  return generate(server, the_one<Kind>(), std::move(call));
}
template <typename Kind>
std::unique_ptr<http::Responder> prompt_route(ServerContext& server, Call call) {
  return answer_prompt(server, the_one<Kind>(), std::move(call));
}

}  // namespace millrace::server
