#pragma once

#include <millrace/millrace.h>
#include <atomic>
#include <memory>

#include "chat/chat_format.h"
#include "runtime/loaded_model.h"

namespace millrace::api {

// State shared by the handles of a model. Immutable after loading except `taken`, which is atomic.
struct Model::Impl {
  runtime::LoadedModel loaded;
  std::shared_ptr<const chat::ChatFormat> chat;  // null: the model has no template
  std::atomic<bool> taken = false;               // an engine uses the model

  explicit Impl(runtime::LoadedModel model);
};

}  // namespace millrace::api
