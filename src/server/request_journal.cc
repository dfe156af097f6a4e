#include "server/request_journal.h"

#include <chrono>

#include "server/generation.h"
#include "server/router.h"

namespace millrace::server {

void RequestJournal::finished(const http::Exchange& exchange) {
  const Route* route = find_route(exchange.method, exchange.path).route;
  observers_.metrics().http(exchange, route == nullptr ? "" : route->path);
  if (exchange.status == 401) observers_.metrics().auth_failure();
  if (exchange.status == 429) observers_.metrics().rejected("capacity");
  if (exchange.rejection.empty()) return;
  const auto spent = std::chrono::duration<double>(exchange.seconds);
  observe::RequestRecord record;
  record.route = route == nullptr ? "none" : std::string(route->path);
  record.path = exchange.path;
  record.request_id = exchange.request_id;
  record.status = exchange.status;
  record.error_code = exchange.rejection;
  record.finished = env_.now();
  record.received = record.finished - std::chrono::duration_cast<Clock::duration>(spent);
  observers_.rejection(record);
}

void RequestJournal::finished(const GenerationTask& task, const std::vector<Answer>& answers,
                              const std::optional<ApiError>& error) {
  observe::RequestRecord record;
  record.model = task.model->name;
  record.adapter = task.adapter;
  for (const GenerationFields::Lora& lora : task.fields.lora) {
    record.adapter += (record.adapter.empty() ? "" : "+") + lora.name;
  }
  record.route = task.route;
  record.path = task.route;  // no route of generation has a parameter
  record.tenant = task.caller.tenant;
  record.request_id = task.request_id;
  record.trace_parent = task.trace_parent;
  record.n = task.fields.n;
  record.priority = task.fields.priority;
  if (!task.sampling.empty()) {
    record.max_tokens = task.sampling[0].max_tokens;
    record.temperature = task.sampling[0].temperature;
    record.top_p = task.sampling[0].top_p;
  }
  record.received = task.received;
  record.finished = env_.now();
  bool all = true;
  for (const Answer& answer : answers) {
    if (answer.engine_request != 0) record.engine_request = answer.engine_request;
    if (answer.finish == engine::FinishReason::kNone) {
      all = false;
    } else {
      record.answers.push_back({answer.stats, answer.spent, answer.finish});
    }
  }
  record.status = error ? error->status : all ? 200 : 499;
  if (error) record.error_code = error->code;
  observers_.request(record);
}

}  // namespace millrace::server
