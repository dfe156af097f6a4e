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

// Reports finished requests to log, metrics and traces. Thread-safe.
class RequestJournal {
 public:
  // The observers must outlive this object.
  RequestJournal(Observers& observers, Env& env) : observers_(observers), env_(env) {}

  // Any finished HTTP request.
  void finished(const http::Exchange& exchange);
  // A finished request to a model, with its answers or its error.
  void finished(const GenerationTask& task, const std::vector<Answer>& answers, const std::optional<ApiError>& error);
  // Metrics in Prometheus' text format.
  std::string metrics_text(observe::Snapshot snapshot) { return observers_.text(std::move(snapshot)); }

 private:
  Observers& observers_;
  Env& env_;
};

}  // namespace millrace::server
