#pragma once

#include <memory>

#include "server/generation.h"
#include "server/route.h"

namespace millrace::server {

// Answers a generating request: prepares it on the prep pool, waits for its model, submits it, and replies whole or as
// a stream. Does not block.
std::unique_ptr<http::Responder> generate(ServerContext& server, const GenerationRoute& route, Call call);

// Answers a request of a PromptRoute. Its model must be loaded.
std::unique_ptr<http::Responder> answer_prompt(ServerContext& server, const PromptRoute& route, Call call);

// The only object of a stateless route.
template <typename Kind>
const Kind& the_one() {
  static const Kind one;
  return one;
}

// For Route::reader.
template <typename Kind>
const TaskReader& task_reader() {
  return the_one<Kind>();
}

// For Route::handle of a GenerationRoute, and of a PromptRoute.
template <typename Kind>
std::unique_ptr<http::Responder> generation_route(ServerContext& server, Call call) {
  return generate(server, the_one<Kind>(), std::move(call));
}
template <typename Kind>
std::unique_ptr<http::Responder> prompt_route(ServerContext& server, Call call) {
  return answer_prompt(server, the_one<Kind>(), std::move(call));
}

}  // namespace millrace::server
