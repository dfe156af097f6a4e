#pragma once

#include <millrace/millrace.h>
#include <atomic>
#include <memory>

#include "chat/chat_format.h"
#include "runtime/loaded_model.h"

namespace millrace::api {

// Shared by a Model's handles. Immutable after loading, except `taken`.
struct Model::Impl {
  runtime::LoadedModel loaded;
  std::shared_ptr<const chat::ChatFormat> chat;  // null: the model has no template
  std::atomic<bool> taken = false;               // an engine on the model exists

  explicit Impl(runtime::LoadedModel model);
};

}  // namespace millrace::api
