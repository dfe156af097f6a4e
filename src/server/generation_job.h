#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/adapter_choice.h"
#include "server/generation.h"
#include "server/server_context.h"

namespace millrace::server {

// One generation request on its way. It outlives the connection, as preparing threads and the thread that loads models
// hold it too. `server` and `route` outlive it. The destructor ends the request in its tenant's quota, so
// Access::begin_request() must have admitted it.
struct Job {
  ServerContext& server;
  const GenerationRoute& route;
  http::Request request;
  Caller caller;
  http::Wake wake;
  const FailureSignal::Listed listed;  // calls `wake` when the server gives up
  const std::string request_id;
  RunningRequests::Place place;
  std::atomic<bool> abandoned = false;                 // the client has left, or was told that its time is over
  std::atomic<TimePoint> deadline = TimePoint::max();  // of the request's field timeout, from its first byte on
  std::int64_t tokens_used = 0;  // prompt and output tokens, for the tenant's quota; set by ~Collector()

  // From here to `streams`: preparing threads write before they set `done`, the connection's thread reads after that.
  FieldNotes notes;
  std::optional<ApiError> error;
  GenerationTask task;
  AdapterChoice adapters;
  std::optional<WakeList::Listed> unloading;                  // set where there are adapters
  std::string adapter_generations;                            // for the header; empty: no adapters
  std::shared_ptr<HostedModel> model;                         // task.model with its engine; null until it is known
  std::vector<std::shared_ptr<engine::TokenStream>> streams;  // [task.requests]; empty until submitted
  std::atomic<bool> done = false;

  Job(ServerContext& s, const GenerationRoute& r, http::Request req, const Caller& c, http::Wake w)
      : server(s),
        route(r),
        request(std::move(req)),
        caller(c),
        wake(std::move(w)),
        listed(s.failure, wake),
        request_id(s.request_ids.of(request)),
        place(s.running,
              {.id = request_id, .route = request.path, .model = {}, .tenant = {}, .received = request.received}) {}
  ~Job() { server.access.end_request(caller, tokens_used, Env::system().now()); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Preparation has ended, with streams or with `error`. Wakes the connection's thread.
  void finish() {
    // `done` and `abandoned` are sequentially consistent: submit() or ~Generation() sees both set, and cancels.
    done = true;
    wake();
  }
  void fail(ApiError why) {
    error = std::move(why);
    finish();
  }
  // Cancels what was submitted; does nothing before that. Any thread that may read `streams`.
  void cancel_all() {
    for (const auto& stream : streams) model->engine->cancel(stream);
  }
};

}  // namespace millrace::server
