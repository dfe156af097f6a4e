#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/generation.h"
#include "server/server_context.h"

namespace millrace::server {

// The state of one generating request. Shared by the connection, the prep pool and the thread that loads models, so it
// may outlive the connection.
struct Job {
  ServerContext& server;
  const GenerationRoute& route;
  http::Request request;
  Caller caller;
  http::Wake wake;
  const FailureSignal::Listed listed;  // wakes the request when the server gives up
  std::string request_id;
  std::atomic<bool> abandoned = false;  // the client has left
  std::int64_t tokens_used = 0;

  // The members below are written before `done` is set, and read after it.
  FieldNotes notes;
  std::optional<ApiError> error;
  GenerationTask task;
  std::shared_ptr<HostedModel> model;                         // the task's model; its engine serves the request
  std::vector<std::shared_ptr<engine::TokenStream>> streams;  // [task.requests]
  std::atomic<bool> done = false;

  Job(ServerContext& s, const GenerationRoute& r, http::Request req, const Caller& c, http::Wake w)
      : server(s), route(r), request(std::move(req)), caller(c), wake(std::move(w)), listed(s.failure, wake) {}
  ~Job() { server.access.end_request(caller, tokens_used, Env::system().now()); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void finish() {
    done = true;  // sequentially consistent with `abandoned`: submit() or ~Generation() sees both, and cancels
    wake();
  }
  void fail(ApiError why) {
    error = std::move(why);
    finish();
  }
  void cancel_all() {
    for (const auto& stream : streams) model->engine->cancel(stream);
  }
};

}  // namespace millrace::server
