// A server that records which functions its requests enter: "listening on PORT" when it is ready, and the trace into
// the file named by the first argument once its input has ended. Everything above the executor is what `millrace serve`
// runs.

#include <cstdio>
#include <thread>

#include "engine/engine_thread.h"
#include "http/server.h"
#include "server/service.h"
#include "simulator/fake_executor.h"
#include "text/testing/vocabularies.h"
#include "tracer.h"

namespace {

using namespace millrace;

server::ModelParts load(server::Observers& observers) {
  server::ModelParts parts;
  parts.tokenizer = text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt2")).or_throw();
  parts.chat = chat::ChatFormat::load({{{"default", "{{ messages[-1].content }}"}}}, {}).or_throw();
  const simulator::FakeExecutor::Config config{.vocab_size = parts.tokenizer->vocab_size()};
  const auto compute = [](const engine::StepInput&, std::span<float>) { return Result<void>(); };
  auto engine = engine::Engine::create(std::make_unique<simulator::FakeExecutor>(config, compute), parts.tokenizer,
                                       Env::system(), {})
                    .or_throw();
  engine->reporter().observe(observers.watch({.name = "m"}));
  parts.engine = std::make_unique<engine::EngineThread>(std::move(engine), parts.tokenizer, Env::system());
  return parts;
}

void serve_until_the_input_ends() {
  server::observe::LogWriter writer({});
  server::Observers observers({.log_requests = false}, writer, Env::system());
  server::ModelEntry entry;
  entry.name = "m";
  entry.load = [&](const std::function<void(double)>&) { return load(observers); };
  server::Service service({}, server::Access::load("", {}, 1).or_throw(), {entry}, {}, observers, Env::system());
  const auto server = http::Server::start({.port = 0}, service).or_throw();
  while (service.models().ready("m") == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::printf("listening on %d\n", server->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: traced_server TRACE\n");
    return 2;
  }
  serve_until_the_input_ends();
  std::FILE* file = std::fopen(argv[1], "w");
  if (file == nullptr) {
    std::fprintf(stderr, "traced_server: cannot write %s\n", argv[1]);
    return 1;
  }
  trace::write(file);
  std::fclose(file);
}
