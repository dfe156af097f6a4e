#pragma once

#include <memory>

#include "server/generation.h"
#include "server/route.h"

namespace millrace::server {

// Prepares off the IO thread, waits for the model, submits, and answers whole or as a stream.
std::unique_ptr<http::Responder> generate(ServerContext& server, const GenerationRoute& route, Call call);

// The same for a prompt alone, whose model must be there.
std::unique_ptr<http::Responder> answer_prompt(ServerContext& server, const PromptRoute& route, Call call);

// The one of its kind, which has no state.
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

// For Route::handle: a route that makes text, and one that answers with its prompt.
template <typename Kind>
std::unique_ptr<http::Responder> generation_route(ServerContext& server, Call call) {
  return generate(server, the_one<Kind>(), std::move(call));
}
template <typename Kind>
std::unique_ptr<http::Responder> prompt_route(ServerContext& server, Call call) {
  return answer_prompt(server, the_one<Kind>(), std::move(call));
}

}  // namespace millrace::server
