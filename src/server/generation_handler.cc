#include "server/generation_handler.h"

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "server/adapter_choice.h"
#include "server/answer_grammar.h"
#include "server/collector.h"
#include "server/generation_job.h"
#include "server/pooled_reply.h"

namespace millrace::server {
namespace {

ApiError queue_full() { return {429, "queue_full", "", "too many requests are waiting"}; }

// Until then the connection's thread sees to it, also while an adapter or a model is waited for.
void set_deadline(Job& job) {
  const auto& seconds = job.task.fields.timeout_seconds;
  if (!seconds) return;
  job.deadline =
      job.task.received + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
  job.wake();
}

void submit(const std::shared_ptr<Job>& job) {
  if (job->abandoned) return;
  GenerationTask& task = job->task;
  const double left_ms = milliseconds_between(Env::system().now(), job->deadline);
  if (left_ms <= 0.0) return job->fail(took_too_long());
  for (engine::Request& request : task.requests) {
    if (request.timeout_ms) request.timeout_ms = std::min(*request.timeout_ms, left_ms);
  }
  std::int64_t prompt_tokens = 0;
  for (const auto& prompt : task.prompts) prompt_tokens += static_cast<std::int64_t>(prompt.size());
  job->place.prepared(task.model->name, task.caller.tenant, prompt_tokens);
  task.sampling = {task.requests[0].sampling};
  for (engine::Request& request : task.requests) {
    job->streams.push_back(job->model->engine->submit(std::move(request), job->wake));
  }
  job->finish();
  if (job->abandoned) job->cancel_all();
}

// With its model and adapters, or what is known of them: the engine gets them when its turn comes.
void prepare_requests(const std::shared_ptr<Job>& job, const model::AdapterStore::Leases& leases) {
  if (job->abandoned) return;
  GenerationTask& task = job->task;
  job->adapter_generations = generations_of(leases);
  if (leases.size() == 1 && leases[0].chat != nullptr) task.model = job->model->with_chat(leases[0].chat);
  if (auto prepared = job->route.prepare(task); !prepared) return job->fail(prepared.error());
  for (engine::Request& request : task.requests) request.adapters = uses_of(job->adapters, leases);
  if (const auto grammar = asked_grammar(task)) {
    auto left_out = job->model->engine->compile_grammar(*grammar, task.caller.tenant_number, job->abandoned);
    if (!left_out) return job->fail(grammar_rejection(left_out.error(), task));
    task.left_out = *std::move(left_out);
    for (engine::Request& request : task.requests) request.grammar = grammar;
  }
  if (task.session) {
    if (task.requests.size() > 1) {
      return job->fail(make_error(ErrorCode::kInvalidArgument, "prompt", "a session goes on with one prompt"));
    }
    task.requests[0].session = task.session;
    task.requests[0].append_to_session = !task.fields.prompt.is_null();  // a conversation comes whole
  }
  submit(job);
}

// The route's own work may throw only where memory ends; whatever it is ends this request and no other.
template <typename Work>
void guarded(const std::shared_ptr<Job>& job, Work work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    job->cancel_all();  // what was submitted already
    job->fail(ApiError(503, "out_of_memory", "", "the server is out of memory"));
  } catch (const std::exception& failure) {
    log::error("request {}: {}", job->request_id, failure.what());
    job->cancel_all();
    job->fail(ApiError());
  }
}

void prepare(const std::shared_ptr<Job>& job, std::shared_ptr<HostedModel> model) {
  if (job->abandoned) return;
  GenerationTask& task = job->task;
  task.model = job->model = std::move(model);
  task.caller = job->caller;
  task.request_id = job->request_id;
  task.created = unix_time();
  auto adapters = choose_adapters(*job->model, task.fields, task.caller);
  if (!adapters) return job->fail(adapters.error());
  job->adapters = *std::move(adapters);
  task.adapter = job->adapters.name;
  if (job->adapters.wanted.empty()) return prepare_requests(job, {});
  job->unloading.emplace(job->server.adapter_removals, job->wake);
  if (const auto known = job->model->adapters->known(job->adapters.wanted); known && !task.session) {
    return prepare_requests(job, *known);
  }
  // Prompts depend on what is in an adapter's files, and a session on what its request computes with.
  using Leases = Result<model::AdapterStore::Leases>;
  const auto go_on = [](const std::shared_ptr<Job>& with, const Leases& leases) {
    leases ? prepare_requests(with, *leases) : with->fail(adapter_error(with->adapters, leases.error()));
  };
  // On the store's thread, which has files to read.
  const auto later = [job, go_on](const Leases& leases) {
    const auto work = [job, go_on, leases] { guarded(job, [&] { go_on(job, leases); }); };
    if (!job->server.prep_pool.run(work)) job->fail(queue_full());
  };
  if (auto now = job->model->adapters->acquire(job->adapters.wanted, later, [job] { return job->abandoned.load(); }))
    go_on(job, *now);
}

void read(const std::shared_ptr<Job>& job) {
  if (job->abandoned) return;
  auto body = parse_json(job->request.body);
  if (!body) return job->fail(body.error());
  job->request.body = {};
  if (auto fine = job->route.read(*body, job->task.fields, job->notes); !fine) return job->fail(fine.error());
  ServerContext& server = job->server;
  GenerationFields& fields = job->task.fields;
  set_deadline(*job);
  if (const auto rejected = reject_unknown(server.config, job->notes)) return job->fail(*rejected);
  server.billing_headers.settle(fields.billing_header, fields.system);
  if (!fields.session_id.empty()) {
    auto session = server.sessions.find(fields.session_id, job->caller);
    if (!session) return job->fail(session.error());
    job->task.session = session->session;
    return prepare(job, std::move(session->model));
  }
  // On the loading thread, which has other things to do.
  const auto loaded = [job](Result<std::shared_ptr<HostedModel>> model) {
    if (!model) return job->fail(model.error());
    const auto work = [job, model = *model] { guarded(job, [&] { prepare(job, model); }); };
    if (!job->server.prep_pool.run(work)) job->fail(queue_full());
  };
  auto known = server.models.acquire(fields.model, loaded);
  if (!known) return;
  if (!*known) return job->fail(known->error());
  prepare(job, **std::move(known));
}

class GenerationStream final : public http::StreamBody {
 public:
  explicit GenerationStream(std::unique_ptr<Collector> collector, std::string begun)
      : collector_(std::move(collector)), begun_(std::move(begun)) {}

  bool take(std::string& out) override {
    out += std::exchange(begun_, {});
    AnswerFormat& format = collector_->format();
    collector_->drain([&](const Answer& answer, const Piece& piece) { format.add(answer, piece, out); });
    if (collector_->error()) {
      format.fail(*collector_->error(), out);
      return false;
    }
    if (!collector_->ended()) return true;
    format.end(collector_->answers(), out);
    return false;
  }
  std::string_view keep_alive() const noexcept override { return collector_->format().keep_alive(); }

 private:
  std::unique_ptr<Collector> collector_;
  std::string begun_;
};

class Generation final : public http::Responder {
 public:
  explicit Generation(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  ~Generation() override {
    if (collector_ != nullptr || answered_) return;
    job_->abandoned = true;
    if (job_->done) job_->cancel_all();
  }

  std::optional<http::Reply> poll() override {
    if (!job_->done.load(std::memory_order_acquire)) {
      if (job_->server.failure.raised()) return give_up(engine_failure());
      if (Env::system().now() >= job_->deadline.load()) return give_up(took_too_long());
      return std::nullopt;
    }
    if (job_->error) return finished(job_->error->reply(job_->route.dialect()));
    if (collector_ == nullptr) collector_ = std::make_unique<Collector>(job_);
    engine_had_it_ = true;
    return job_->task.fields.stream ? poll_stream() : poll_whole();
  }

  // The engine has the request, and its first token takes its time.
  std::optional<http::Reply> promise() override {
    if (collector_ == nullptr || !job_->task.fields.stream) return std::nullopt;
    std::string out;
    collector_->format().begin(out);
    return stream_reply(std::move(out));
  }

  TimePoint due() const noexcept override { return job_->done ? TimePoint::max() : job_->deadline.load(); }

 private:
  // While the request is being prepared.
  http::Reply give_up(const ApiError& error) {
    job_->abandoned = true;
    if (job_->done) job_->cancel_all();
    answered_ = true;
    http::Reply reply = error.reply(job_->route.dialect());
    reply.headers.add("x-request-id", job_->request_id);  // no more: a preparing thread may be writing the rest
    return reply;
  }

  // The head goes out with the first token: what is wrong before it still gets a status of its own. See promise().
  std::optional<http::Reply> poll_stream() {
    std::string out;
    bool any = false;
    AnswerFormat& format = collector_->format();
    collector_->drain([&](const Answer& answer, const Piece& piece) {
      if (!std::exchange(any, true)) format.begin(out);
      format.add(answer, piece, out);
    });
    if (!any) end_if_unloaded();
    if (collector_->error() && !any) return finished(collector_->error()->reply(job_->route.dialect()));
    if (!any) return std::nullopt;
    return stream_reply(std::move(out));
  }

  std::optional<http::Reply> stream_reply(std::string out) {
    http::Reply reply;
    reply.content_type = "text/event-stream; charset=utf-8";
    reply.headers.add("cache-control", "no-cache");
    reply.headers.add("x-accel-buffering", "no");
    reply.stream = std::make_unique<GenerationStream>(std::move(collector_), std::move(out));
    return finished(std::move(reply));
  }

  std::optional<http::Reply> poll_whole() {
    collector_->drain([&](const Answer&, const Piece&) { begun_ = true; });
    if (!begun_) end_if_unloaded();
    if (collector_->error()) return finished(collector_->error()->reply(job_->route.dialect()));
    if (!collector_->ended()) return std::nullopt;
    http::Reply reply{.body = dumped(collector_->format().whole(collector_->chosen()))};
    return finished(std::move(reply));
  }

  // An adapter was unloaded before the first token, and the store lets none begin then.
  void end_if_unloaded() {
    for (const model::AdapterRef& adapter : job_->adapters.wanted) {
      if (!job_->model->adapters->rejected(adapter)) continue;
      collector_->fail(adapter_error(
          job_->adapters, make_error(ErrorCode::kNotFound, "", "the adapter {} was unloaded", adapter->name)));
    }
  }

  http::Reply finished(http::Reply reply) {
    if (engine_had_it_) reply.rejection.clear();  // has its line in the log
    answered_ = true;
    reply.headers.add("x-request-id", job_->request_id);
    if (!job_->adapter_generations.empty()) reply.headers.add("x-lora-generation", job_->adapter_generations);
    add_name_list(reply, "x-ignored-params", job_->notes.ignored, "_.");
    add_name_list(reply, "x-ignored-schema-keywords", job_->task.left_out, "_/-.~$");
    return reply;
  }

  std::shared_ptr<Job> job_;
  std::unique_ptr<Collector> collector_;
  bool answered_ = false, engine_had_it_ = false, begun_ = false;
};

}  // namespace

std::unique_ptr<http::Responder> generate(ServerContext& server, const GenerationRoute& route, Call call) {
  if (server.failure.raised()) return std::make_unique<http::ReadyReply>(engine_failure().reply(route.dialect()));
  if (const auto rejected = server.access.begin_request(call.caller, Env::system().now())) {
    return std::make_unique<http::ReadyReply>(rejected->reply(route.dialect()));
  }
  auto job = std::make_shared<Job>(server, route, std::move(call.request), call.caller, std::move(call.wake));
  job->task.route = job->request.path;
  job->task.trace_parent = job->request.headers.get("traceparent");
  job->task.received = job->request.received;
  if (!server.prep_pool.run([job] { guarded(job, [&] { read(job); }); })) {
    job->error = queue_full();
    job->done = true;
  }
  return std::make_unique<Generation>(std::move(job));
}

std::unique_ptr<http::Responder> answer_prompt(ServerContext& server, const PromptRoute& route, Call call) {
  return answer_in_pool(server, std::move(call), [&route](ServerContext& s, const Call& c) {
    GenerationTask task;
    FieldNotes notes;
    const auto read = [&](const Json& body) { return route.read(body, task.fields, notes); };
    return body_reply(s, c, notes, read, [&]() -> Result<Json> {
      s.billing_headers.settle(task.fields.billing_header, task.fields.system);
      const auto model = s.models.ready(task.fields.model);
      task.model = model;
      if (task.model == nullptr) return s.models.absence(task.fields.model);
      const auto adapters = choose_adapters(*model, task.fields, c.caller);
      if (!adapters) return adapters.error();
      if (adapters->wanted.size() == 1) {
        if (auto chat = model->adapters->chat(adapters->wanted[0])) task.model = model->with_chat(std::move(chat));
      }
      task.created = unix_time();
      if (auto prepared = route.prepare(task); !prepared) return prepared.error();
      return route.answer(task);
    });
  });
}

}  // namespace millrace::server
