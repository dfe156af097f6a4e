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

// What a handler gets.
struct Call {
  http::Request request;
  Caller caller;
  std::string parameter;  // what stood for {} in the path
  http::Wake wake;
};

// One operation of the API: a file in routes/, found by CMake.
struct Route {
  std::string_view method, path;  // "/v1/models/{}": the last part is a parameter
  Scope scope = Scope::kInfer;
  std::string_view summary;
  // Begins to answer, on a connection's thread: must not block.
  std::unique_ptr<http::Responder> (*handle)(ServerContext& server, Call call) = nullptr;
  // What its bodies become tasks with, for tests; null: they become none.
  const TaskReader& (*reader)() = nullptr;
  // The JSON Schema of the body; null: there is none.
  Json (*body_schema)() = nullptr;
  bool body_optional = false;
  std::string_view reply_type = "application/json";
  bool streams = false;           // text/event-stream too, where the body says so
  bool anthropic_errors = false;  // how errors are spelled
};
std::span<const Route> all_routes();  // generated

}  // namespace millrace::server
