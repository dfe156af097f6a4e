#include "server/generation.h"

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "server/service.h"

namespace millrace::server {
namespace {

using engine::FinishReason;
using engine::Output;
using engine::TokenStream;

// What outlives the connection: the preparing threads and the one that loads models hold it too.
struct Job {
  Service& service;
  const GenerationRoute& route;
  http::Request request;
  Caller caller;
  http::Wake wake;
  std::string request_id;
  std::atomic<bool> abandoned = false;  // the client has left
  std::int64_t tokens_used = 0;

  // Written before `done` is set, read after it.
  std::vector<std::string> unknown;
  std::optional<ApiError> error;
  GenerationTask task;
  std::vector<std::shared_ptr<TokenStream>> streams;  // [task.requests]
  std::atomic<bool> done = false;

  Job(Service& s, const GenerationRoute& r, http::Request req, const Caller& c, http::Wake w)
      : service(s), route(r), request(std::move(req)), caller(c), wake(std::move(w)) {}
  ~Job() { service.access().end_request(caller, tokens_used, Env::system().now()); }

  void finish() {
    done.store(true, std::memory_order_release);
    wake();
  }
  void fail(ApiError why) {
    error = std::move(why);
    finish();
  }
  void cancel_all() {
    for (const auto& stream : streams) task.model->engine.cancel(stream);
  }
};

void submit(const std::shared_ptr<Job>& job) {
  if (job->abandoned) return;
  GenerationTask& task = job->task;
  task.sampling = {task.requests[0].sampling};
  for (engine::Request& request : task.requests) {
    job->streams.push_back(task.model->engine.submit(std::move(request), job->wake));
  }
  job->finish();
  if (job->abandoned) job->cancel_all();
}

void prepare(const std::shared_ptr<Job>& job, std::shared_ptr<HostedModel> model) {
  if (job->abandoned) return;
  GenerationTask& task = job->task;
  task.model = std::move(model);
  task.caller = job->caller;
  task.request_id = job->request_id;
  task.created = unix_time();
  if (auto prepared = job->route.prepare(task); !prepared) return job->fail(prepared.error());
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

void read(const std::shared_ptr<Job>& job) {
  if (job->abandoned) return;
  auto body = parse_json(job->request.body);
  if (!body) return job->fail(body.error());
  job->request.body = {};
  if (auto fine = job->route.read(*body, job->task.fields, job->unknown); !fine) return job->fail(fine.error());
  if (job->service.strict_params() && !job->unknown.empty()) {
    return job->fail(ApiError(400, "unknown_parameter", "", "the body has fields that this route does not know"));
  }
  if (!job->task.fields.session_id.empty()) {
    auto session = job->service.sessions().find(job->task.fields.session_id, job->caller);
    if (!session) return job->fail(session.error());
    job->task.session = session->session;
    return prepare(job, std::move(session->model));
  }
  job->service.models().acquire(job->task.fields.model, [job](Result<std::shared_ptr<HostedModel>> model) {
    if (!model) return job->fail(model.error());
    // On the thread that called acquire(), one of the pool, or on the loading one, which has other things to do.
    const auto work = [job, model = *model] { guarded(job, [&] { prepare(job, model); }); };
    if (PrepPool::inside()) return work();
    if (!job->service.prep_pool().run(work))
      job->fail(ApiError(429, "queue_full", "", "too many requests are waiting"));
  });
}

ApiError error_of(const Output& output) {
  if (output.finish == FinishReason::kTimeout)
    return {504, "timeout", "timeout", "the request took longer than it may"};
  if (output.finish == FinishReason::kCancelled) return {503, "shutting_down", "", "the request was cancelled"};
  if (!output.error) return {};
  if (output.error->code == ErrorCode::kInternal && output.error->param == "logits") {
    return {500, "numerical_error", "", "the model's output is not a number"};
  }
  return *output.error;
}

// A token that the model does not have is a mistake of who names it, whatever would become of it.
Result<void> check_vocabulary(const GenerationFields& fields, std::int64_t vocab_size) {
  const auto check = [&](const char* field, std::int32_t token) -> Result<void> {
    if (token < vocab_size) return {};
    return make_error(ErrorCode::kInvalidArgument, field, "{} has the token id {}: the vocabulary has {}", field, token,
                      vocab_size);
  };
  for (const decode::TokenBias& bias : fields.logit_bias) {
    if (auto fine = check("logit_bias", bias.token); !fine) return fine;
  }
  for (const std::int32_t token : fields.allowed_token_ids) {
    if (auto fine = check("allowed_token_ids", token); !fine) return fine;
  }
  for (const std::int32_t token : fields.stop_token_ids) {
    if (auto fine = check("stop_token_ids", token); !fine) return fine;
  }
  return {};
}

// Takes what the engine made of a request's prompts and turns it into answers.
class Collector {
 public:
  explicit Collector(std::shared_ptr<Job> job) : job_(std::move(job)) {
    const GenerationTask& task = job_->task;
    made_ = static_cast<std::size_t>(
        task.fields.use_beam_search ? task.fields.n : std::max(task.fields.n, task.fields.best_of.value_or(0)));
    answers_.resize(task.prompts.size() * made_);
    pieces_.resize(answers_.size());
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      answers_[i].index = i;
      answers_[i].prompt = i / made_;
    }
    open_ = job_->streams.size();
    format_ = job_->route.format(task);
  }
  ~Collector() {
    if (open_ > 0) job_->cancel_all();
    for (const Answer& answer : answers_) job_->tokens_used += answer.stats.prompt_tokens + answer.stats.output_tokens;
    job_->service.finished(job_->task, answers_, error_);
  }

  // Calls `step(answer, piece)` for each answer that gained something. The first error ends everything.
  template <typename Step>
  void drain(Step step) {
    for (std::size_t p = 0; p < job_->streams.size(); ++p) {
      while (!error_) {
        auto output = job_->streams[p]->try_pop();
        if (!output) break;
        take(p, *std::move(output), step);
      }
    }
    if (error_ && open_ > 0) {
      job_->cancel_all();
      open_ = 0;
    }
  }
  bool ended() const noexcept { return open_ == 0; }
  const std::optional<ApiError>& error() const noexcept { return error_; }
  AnswerFormat& format() noexcept { return *format_; }

  // Those that are returned: all, or with best_of the n likeliest of each prompt, by mean logarithm.
  std::vector<Answer> chosen() {
    const auto n = static_cast<std::size_t>(job_->task.fields.n);
    if (made_ == n) return answers_;
    const auto mean = [](const Answer& a) {
      return a.stats.cumulative_logprob / static_cast<double>(std::max<std::size_t>(1, a.tokens.size()));
    };
    std::vector<Answer> best;
    for (std::size_t p = 0; p < job_->task.prompts.size(); ++p) {
      std::vector<Answer> mine(answers_.begin() + static_cast<std::ptrdiff_t>(p * made_),
                               answers_.begin() + static_cast<std::ptrdiff_t>((p + 1) * made_));
      std::ranges::stable_sort(mine, std::greater(), mean);
      for (std::size_t i = 0; i < n; ++i) {
        mine[i].index = p * n + i;
        best.push_back(std::move(mine[i]));
      }
    }
    return best;
  }
  const std::vector<Answer>& answers() const noexcept { return answers_; }

 private:
  template <typename Step>
  void take(std::size_t prompt, Output output, Step step) {
    using enum FinishReason;
    if (output.finish == kError || output.finish == kTimeout || output.finish == kCancelled) {
      error_ = error_of(output);
      return;
    }
    Answer& answer = answers_[prompt * made_ + static_cast<std::size_t>(output.choice)];
    Piece& piece = pieces_[answer.index];
    answer.text += output.text;
    piece.text += output.text;
    if (output.token) {
      answer.tokens.push_back(*output.token);
      piece.tokens.push_back(*output.token);
    }
    if (output.score) {
      piece.scores.push_back(*output.score);
      answer.scores.push_back(*std::move(output.score));
    }
    if (!output.prompt_scores.empty()) answer.prompt_scores = std::move(output.prompt_scores);
    if (!output.embedding.empty()) answer.embedding = std::move(output.embedding);
    answer.finish = output.finish;
    answer.stop_reason = std::move(output.stop_reason);
    answer.stats = output.stats;
    answer.engine_request = output.request;
    if (output.spent) answer.spent = *output.spent;
    if (output.last) --open_;
    const auto gathered = static_cast<std::int64_t>(piece.tokens.size());
    if (output.finish == kNone && gathered < job_->task.fields.stream_interval) return;
    step(answer, piece);
    piece = {};
  }

  std::shared_ptr<Job> job_;
  std::unique_ptr<AnswerFormat> format_;
  std::size_t made_ = 1, open_ = 0;
  std::vector<Answer> answers_;
  std::vector<Piece> pieces_;  // [answers], not yet said
  std::optional<ApiError> error_;
};

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
    if (job_->done.load(std::memory_order_acquire)) job_->cancel_all();
  }

  std::optional<http::Reply> poll() override {
    if (!job_->done.load(std::memory_order_acquire)) return std::nullopt;
    if (job_->error) return finished(job_->error->reply(job_->route.dialect()));
    if (collector_ == nullptr) collector_ = std::make_unique<Collector>(job_);
    return job_->task.fields.stream ? poll_stream() : poll_whole();
  }

 private:
  // The head goes out with the first token: what is wrong before it still gets a status of its own.
  std::optional<http::Reply> poll_stream() {
    std::string out;
    bool any = false;
    AnswerFormat& format = collector_->format();
    collector_->drain([&](const Answer& answer, const Piece& piece) {
      if (!std::exchange(any, true)) format.begin(out);
      format.add(answer, piece, out);
    });
    if (collector_->error() && !any) return finished(collector_->error()->reply(job_->route.dialect()));
    if (!any) return std::nullopt;
    http::Reply reply;
    reply.content_type = "text/event-stream; charset=utf-8";
    reply.headers.add("cache-control", "no-cache");
    reply.headers.add("x-accel-buffering", "no");
    reply.stream = std::make_unique<GenerationStream>(std::move(collector_), std::move(out));
    return finished(std::move(reply));
  }

  std::optional<http::Reply> poll_whole() {
    collector_->drain([](const Answer&, const Piece&) {});
    if (collector_->error()) return finished(collector_->error()->reply(job_->route.dialect()));
    if (!collector_->ended()) return std::nullopt;
    http::Reply reply{.body = dumped(collector_->format().whole(collector_->chosen()))};
    return finished(std::move(reply));
  }

  http::Reply finished(http::Reply reply) {
    answered_ = true;
    reply.headers.add("x-request-id", job_->request_id);
    std::string ignored;
    for (const std::string& name : job_->unknown) {
      const bool plain =
          std::ranges::all_of(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
      if (!plain || name.size() > 64 || ignored.size() > 512) continue;
      ignored += (ignored.empty() ? "" : ", ") + name;
    }
    if (!ignored.empty()) reply.headers.add("x-ignored-params", ignored);
    return reply;
  }

  std::shared_ptr<Job> job_;
  std::unique_ptr<Collector> collector_;
  bool answered_ = false;
};

}  // namespace

std::unique_ptr<http::Responder> generate(Service& service, const GenerationRoute& route, Call call) {
  if (const auto refused = service.access().begin_request(call.caller, Env::system().now())) {
    return std::make_unique<http::ReadyReply>(refused->reply(route.dialect()));
  }
  auto job = std::make_shared<Job>(service, route, std::move(call.request), call.caller, std::move(call.wake));
  job->request_id = service.request_id(job->request);
  job->task.route = job->request.path;
  job->task.trace_parent = job->request.headers.get("traceparent");
  job->task.received = job->request.received;
  if (!service.prep_pool().run([job] { guarded(job, [&] { read(job); }); })) {
    job->error = ApiError(429, "queue_full", "", "too many requests are waiting");
    job->done = true;
  }
  return std::make_unique<Generation>(std::move(job));
}

Result<void> make_requests(GenerationTask& task, std::int64_t default_max_tokens) {
  const GenerationFields& fields = task.fields;
  const HostedModel& model = *task.model;
  if (auto fine = check_vocabulary(fields, model.vocab_size); !fine) return fine;
  const std::uint64_t seed = Env::system().random_seed();
  const auto breakers = fields.sequence_breakers(*model.tokenizer);
  for (std::vector<std::int32_t>& prompt : task.prompts) {
    if (fields.truncate_prompt_tokens) {
      const std::int64_t most =
          *fields.truncate_prompt_tokens < 0 ? model.max_length - 1 : *fields.truncate_prompt_tokens;
      const auto length = static_cast<std::int64_t>(prompt.size());
      if (length > most) prompt.erase(prompt.begin(), prompt.begin() + (length - most));
    }
    const auto length = static_cast<std::int64_t>(prompt.size());
    if (length == 0) return make_error(ErrorCode::kInvalidArgument, "prompt", "the prompt is empty");
    const std::int64_t room = model.max_length - length;
    if (room < 1 || (fields.max_tokens && *fields.max_tokens > room)) {
      return make_error(ErrorCode::kContextLength, room < 1 ? "prompt" : "max_tokens",
                        "the prompt has {} tokens and the answer may have {}: the limit of both is {}", length,
                        fields.max_tokens.value_or(1), model.max_length);
    }
    engine::Request request;
    request.tokens = prompt;
    request.sampling = fields.sampling(model.generation, default_max_tokens, room, seed, *model.tokenizer);
    request.sampling.dry_sequence_breakers = breakers;
    request.beams = fields.beam_options();
    request.n = request.beams ? fields.n : std::max(fields.n, fields.best_of.value_or(0));
    request.sampling.logprobs = fields.logprobs;
    if (request.n > fields.n && !request.sampling.logprobs) request.sampling.logprobs = 0;
    request.prompt_logprobs = fields.prompt_logprobs;
    request.priority = fields.priority;
    request.tenant = task.caller.tenant_number;
    request.cache_salt = task.caller.salt + "/" + fields.cache_salt;
    if (fields.timeout_seconds) request.timeout_ms = *fields.timeout_seconds * 1000.0;
    request.ttft_target_ms = fields.ttft_target_ms;
    request.tpot_target_ms = fields.tpot_target_ms;
    request.expected_tokens = fields.expected_tokens;
    request.draft_tokens = fields.spec_tokens;
    task.requests.push_back(std::move(request));
  }
  return {};
}

}  // namespace millrace::server
