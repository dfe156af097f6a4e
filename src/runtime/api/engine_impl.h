#pragma once

#include <millrace/millrace.h>
#include <atomic>
#include <memory>
#include <utility>

#include "engine/engine_thread.h"
#include "runtime/api/model_impl.h"
#include "runtime/serving_engine.h"

namespace millrace::api {

// State shared by the handles and streams of an engine. Each member depends only on those before it, so the thread ends
// before its disk tier and its model.
struct Engine::Impl {
  // Marks the model as taken by an engine; the destructor makes it free again.
  struct Hold {
    std::shared_ptr<Model::Impl> model;
    explicit Hold(std::shared_ptr<Model::Impl> taken) : model(std::move(taken)) {}
    ~Hold() { model->taken = false; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
  };
  const std::unique_ptr<Hold> hold;
  const std::unique_ptr<kv::DiskTier> disk;  // null: none
  const std::int64_t max_length, kv_capacity_tokens;
  engine::EngineThread thread;

  Impl(std::unique_ptr<Hold> held, runtime::ServingEngine made, const engine::ThreadConfig& config)
      : hold(std::move(held)),
        disk(std::move(made.disk)),
        max_length(made.engine->limits().max_length),
        kv_capacity_tokens(made.engine->limits().kv_capacity_tokens),
        thread(std::move(made.engine), hold->model->loaded.checkpoint->tokenizer, Env::system(), config) {}
};

// State of a stream. `done` may be read by any thread; the thread that reads the stream sets it.
struct Stream::Impl {
  std::shared_ptr<Engine::Impl> engine;
  std::shared_ptr<engine::TokenStream> outputs;
  std::atomic<bool> done = false;

  Impl(std::shared_ptr<Engine::Impl> of, std::shared_ptr<engine::TokenStream> read)
      : engine(std::move(of)), outputs(std::move(read)) {}
};

}  // namespace millrace::api
