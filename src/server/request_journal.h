#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "http/message.h"
#include "server/api_error.h"
#include "server/observers.h"

namespace millrace::server {

struct Answer;          // generation.h
struct GenerationTask;  // generation.h

// Reports requests that have ended to log, metrics and traces. Thread-safe.
class RequestJournal {
 public:
  // `observers` and `env` must outlive the journal.
  RequestJournal(Observers& observers, Env& env) : observers_(observers), env_(env) {}

  // Reports a request that a connection has answered, or whose client has left. It gets a line in the log only if its
  // reply has a rejection.
  void finished(const http::Exchange& exchange);
  // Reports a request that an engine had. `error` or answers that have not finished give it its status: that of the
  // error, 200, or 499 where the client left.
  void finished(const GenerationTask& task, const std::vector<Answer>& answers, const std::optional<ApiError>& error);
  // Metrics in Prometheus' text format; see Observers::text().
  std::string metrics_text(observe::Snapshot snapshot) { return observers_.text(std::move(snapshot)); }

 private:
  Observers& observers_;
  Env& env_;
};

}  // namespace millrace::server
