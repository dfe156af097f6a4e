#pragma once

#include <millrace/millrace.h>
#include <atomic>
#include <memory>

#include "chat/chat_format.h"
#include "runtime/loaded_model.h"

namespace millrace::api {

// What a Model's handles share. Immutable after loading but for `taken`, which is atomic.
struct Model::Impl {
  runtime::LoadedModel loaded;
  std::shared_ptr<const chat::ChatFormat> chat;  // null: the model has no template
  std::atomic<bool> taken = false;               // there is an engine on it

  explicit Impl(runtime::LoadedModel model);
};

}  // namespace millrace::api
