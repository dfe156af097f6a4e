// embed MODEL PROMPT [THREADS]: the model's greedy answer to one message, as it comes.
#include <millrace/millrace.h>
#include <cstdlib>
#include <iostream>

namespace mr = millrace::api;

int fail(const mr::Error& error) {
  std::cerr << error.field << ": " << error.message << "\n";
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return std::cerr << "usage: embed MODEL PROMPT [THREADS]; millrace " MILLRACE_VERSION "\n", 2;
  const auto model = mr::Model::load({.path = argv[1], .threads = argc > 3 ? std::atoi(argv[3]) : 0});
  if (!model) return fail(model.error());
  auto engine = mr::Engine::create(*model, {.kv_cache_tokens = 4096});
  if (!engine) return fail(engine.error());

  const mr::Chat chat = {{.role = "user", .content = argv[2]}};
  auto stream = engine->submit({.prompt = chat, .max_tokens = 32, .sampling = {{"temperature", 0.0}}});
  if (!stream) return fail(stream.error());
  while (!stream->done()) {
    const auto output = stream->next();
    if (!output) return fail(output.error());
    std::cout << output->text << std::flush;
  }
  std::cout << "\n";
}
