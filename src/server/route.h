#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "http/message.h"
#include "server/caller.h"

namespace millrace::server {

struct ServerContext;  // server_context.h
class TaskReader;      // generation.h

// The arguments of a handler.
struct Call {
  http::Request request;
  Caller caller;
  std::string parameter;  // the part of the path that {} matched
  http::Wake wake;
};

// One operation of the API. Each is a file in routes/, which CMake finds.
struct Route {
  std::string_view method, path;  // "/v1/models/{}": the last part is a parameter
  Scope scope = Scope::kInfer;
  std::string_view summary;
  // Begins to answer. Called on the IO thread: must not block.
  std::unique_ptr<http::Responder> (*handle)(ServerContext& server, Call call) = nullptr;
  // The reader of its bodies, for tests; null if they do not become tasks.
  const TaskReader& (*reader)() = nullptr;
  // The JSON Schema of the body; null = no body.
  Json (*body_schema)() = nullptr;
  bool body_optional = false;
  std::string_view reply_type = "application/json";
  bool streams = false;           // replies with text/event-stream if the body asks for it
  bool anthropic_errors = false;  // errors have Anthropic's form
};
std::span<const Route> all_routes();  // generated

}  // namespace millrace::server
