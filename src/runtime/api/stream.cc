#include "base/log.h"
#include "runtime/api/engine_impl.h"
#include "runtime/api/public_result.h"

namespace millrace::runtime {
namespace {

api::FinishReason public_reason(engine::FinishReason reason) noexcept {
  switch (reason) {
    case engine::FinishReason::kNone: return api::FinishReason::kNone;
    case engine::FinishReason::kStop: return api::FinishReason::kStop;
    case engine::FinishReason::kLength: return api::FinishReason::kLength;
    case engine::FinishReason::kTimeout: return api::FinishReason::kTimeout;
    case engine::FinishReason::kCancelled:
    case engine::FinishReason::kError: return api::FinishReason::kCancelled;
  }
  return api::FinishReason::kNone;
}

api::Output public_output(engine::Output output) {
  const engine::RequestStats& stats = output.stats;
  return {.text = std::move(output.text),
          .token = output.token,
          .finish = public_reason(output.finish),
          .prompt_tokens = stats.prompt_tokens,
          .cached_tokens = stats.cached_tokens,
          .output_tokens = stats.output_tokens,
          .ttft_ms = stats.output_tokens > 0 ? stats.ttft_ms() : 0.0,
          .tpot_ms = stats.tpot_ms()};
}

}  // namespace
}  // namespace millrace::runtime

namespace millrace::api {

Stream::Stream(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Stream::Stream(Stream&&) noexcept = default;

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this == &other) return *this;
  cancel();
  impl_ = std::move(other.impl_);
  return *this;
}

Stream::~Stream() { cancel(); }

Result<Output> Stream::next() noexcept {
  return runtime::guarded([&]() -> Result<Output> {
    if (impl_->done) return Error{ErrorCode::kInvalidArgument, "", "the stream has ended"};
    engine::Output output = impl_->outputs->pop();
    if (output.last || output.error) impl_->done = true;
    if (output.error) return runtime::public_error(*output.error);
    return runtime::public_output(std::move(output));
  });
}

bool Stream::done() const noexcept { return impl_->done; }

void Stream::cancel() noexcept {
  if (impl_ == nullptr || impl_->done) return;
  try {
    impl_->engine->thread.cancel(impl_->outputs);
  } catch (const std::exception&) {  // no memory for the message
    log::write(log::Level::kError,
               "a stream could not be cancelled: it ends when it was not read from for long enough");
  }
}

}  // namespace millrace::api
