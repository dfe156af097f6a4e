#include "runtime/api/config_reading.h"
#include "runtime/api/library.h"
#include "runtime/api/model_impl.h"
#include "runtime/api/public_result.h"
#include "runtime/api/request_reading.h"
#include "runtime/chat_prompt.h"

namespace millrace::runtime {

namespace {

// What is wrong with a file of the model is what is wrong with the path.
Error naming_path(Error error, const std::string& path) {
  if (!error.param.starts_with(path)) return error;
  error.param = "path";
  const bool begins_with_it = error.message.starts_with(path) || error.message.starts_with("'" + path);
  error.message = (begins_with_it ? "path is " : "path: ") + error.message;
  return error;
}

LoadedModel load_at_path(const ModelConfig& config, const std::function<void(double)>& progress) {
  try {
    LoadedModel loaded = load_model(config, progress);
    if (loaded.checkpoint->tokenizer == nullptr) {
      throw_load_error(ErrorCode::kUnsupported, "path", "path: '{}' is of a model without tokenizer", config.path);
    }
    return loaded;
  } catch (const LoadError& failure) {
    throw LoadError(naming_path(failure.error(), config.path));
  }
}

}  // namespace
}  // namespace millrace::runtime

namespace millrace::api {

Model::Impl::Impl(runtime::LoadedModel model)
    : loaded(std::move(model)), chat(runtime::load_chat_format(*loaded.checkpoint)) {}

Result<Model> Model::load(const ModelConfig& config, const std::function<void(double)>& progress) noexcept {
  return runtime::guarded([&]() -> Result<Model> {
    runtime::quieten_once();
    const auto read = runtime::read_config(config);
    if (!read) return runtime::public_error(read.error());
    return Model(std::make_shared<Impl>(runtime::load_at_path(*read, progress)));
  });
}

std::string Model::description() const { return impl_->loaded.transformer->layers().description(); }
std::int64_t Model::vocab_size() const noexcept { return impl_->loaded.transformer->spec().vocab_size; }
std::int64_t Model::max_length() const noexcept { return impl_->loaded.transformer->max_length(); }
bool Model::has_chat_template() const noexcept { return impl_->chat != nullptr; }

Result<std::vector<std::int32_t>> Model::tokenize(std::string_view text) const noexcept {
  return runtime::guarded(
      [&]() -> Result<std::vector<std::int32_t>> { return runtime::prompt_tokens(impl_->loaded, text); });
}

Result<std::vector<std::int32_t>> Model::tokenize(const Chat& chat) const noexcept {
  return runtime::guarded([&]() -> Result<std::vector<std::int32_t>> {
    auto tokens = runtime::prompt_tokens(impl_->loaded, impl_->chat.get(), chat);
    if (!tokens) return runtime::public_error(tokens.error());
    return *std::move(tokens);
  });
}

}  // namespace millrace::api
