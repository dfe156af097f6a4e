#include "chat/answer_grammar.h"
#include "runtime/api/config_reading.h"
#include "runtime/api/engine_impl.h"
#include "runtime/api/public_result.h"
#include "runtime/api/request_reading.h"

namespace millrace::api {

Result<Engine> Engine::create(const Model& model, const EngineConfig& config) noexcept {
  return runtime::guarded([&]() -> Result<Engine> {
    const auto read = runtime::read_config(config);
    if (!read) return runtime::public_error(read.error());
    if (model.impl_->taken.exchange(true)) {
      return Error{ErrorCode::kUnavailable, "model", "model has an engine already: one at a time"};
    }
    auto hold = std::make_unique<Impl::Hold>(model.impl_);
    const runtime::LoadedModel& loaded = model.impl_->loaded;
    runtime::ServingEngine made = runtime::start_engine(loaded.checkpoint->path, loaded, *read);
    return Engine(std::make_shared<Impl>(std::move(hold), std::move(made),
                                         engine::ThreadConfig{.slow_reader_ms = config.slow_reader_ms}));
  });
}

Result<Stream> Engine::submit(const Request& request) noexcept {
  return runtime::guarded([&]() -> Result<Stream> {
    const Model::Impl& model = *impl_->hold->model;
    auto read = runtime::read_request(request, model.loaded, model.chat.get(), impl_->max_length);
    if (!read) return runtime::public_error(read.error());
    if (request.grammar) {
      chat::AnswerGrammar grammar;
      grammar.constraint = {.language = request.grammar->language, .text = request.grammar->text};
      const std::atomic<bool> cancelled = false;
      const auto compiled = impl_->thread.compile_grammar(grammar, 0, cancelled);
      if (!compiled) return runtime::public_error(compiled.error());
      read->grammar = std::make_shared<const chat::AnswerGrammar>(std::move(grammar));
    }
    return Stream(std::make_unique<Stream::Impl>(impl_, impl_->thread.submit(*std::move(read))));
  });
}

std::int64_t Engine::max_length() const noexcept { return impl_->max_length; }
std::int64_t Engine::kv_capacity_tokens() const noexcept { return impl_->kv_capacity_tokens; }

}  // namespace millrace::api
