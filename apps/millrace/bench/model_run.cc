#include "bench/model_run.h"

#include <unistd.h>

#include <fstream>

#include "base/readable_bytes.h"
#include "text/blank_tokenizer.h"

namespace millrace::bench {
namespace {

app::LoadedModel load_timed(const app::ModelFlags& flags, double& seconds, const backend::TimedBackend*& timed) {
  const TimePoint start = Clock::now();
  app::LoadedModel loaded = app::load_model(flags, [&](std::unique_ptr<backend::Backend> inner) {
    auto wrapped = std::make_unique<backend::TimedBackend>(std::move(inner));
    timed = wrapped.get();
    return wrapped;
  });
  seconds = milliseconds_between(start, Clock::now()) / 1000.0;
  return loaded;
}

}  // namespace

ModelRun::ModelRun(const app::ModelFlags& flags, double probe_seconds)
    : flags_(flags),
      loaded_(load_timed(flags, load_seconds_, timed_)),
      work_(loaded_.transformer->spec()),
      arithmetic_(backend::arithmetic_of(loaded_.transformer->layers().description())),
      probe_(loaded_.threads_on_host(), flags.isa(), probe_seconds) {}

app::ServingEngine ModelRun::make_engine(const app::EngineFlags& flags, std::int64_t kv_tokens) const {
  auto tokenizer = loaded_.checkpoint->tokenizer;
  if (tokenizer == nullptr) tokenizer = text::blank_tokenizer(vocabulary());
  return app::make_engine(loaded_, std::move(tokenizer), flags_, flags, kv_tokens);
}

std::int64_t ModelRun::block_tokens() const { return flags_.kv_pages().block_tokens; }

double ModelRun::weight_bytes(double rows) const noexcept { return loaded_.weight_bytes(rows); }

Json ModelRun::new_report(std::string_view command) const {
  Json report = bench::new_report(command, loaded_.backend->threads(), flags_.isa());
  const model::ModelSpec& spec = transformer().spec();
  report["model"] = {{"path", loaded_.checkpoint->path},
                     {"family", spec.family},
                     {"layers", spec.layers.size()},
                     {"hidden_size", spec.hidden_size},
                     {"vocab_size", spec.vocab_size},
                     {"weights", transformer().layers().description()},
                     {"arithmetic", to_string(arithmetic_)},
                     {"kv_cache_dtype", flags_.kv_cache_dtype},
                     {"kv_layout", flags_.kv_layout},
                     {"block_size", block_tokens()},
                     {"weight_bytes_per_token", loaded_.weight_bytes(1.0)},
                     {"operations_per_token", work_.layer_operations() + work_.head_operations()},
                     {"load_seconds", load_seconds_}};
  report["limits"] = json_of(probe_.measured());
  return report;
}

Json ModelRun::memory(const engine::Engine& engine) const {
  return {{"resident_bytes", resident_bytes()},
          {"packed_weight_bytes", loaded_.weight_bytes()},
          {"kv_pool_bytes", engine.limits().kv_bytes}};
}

std::string ModelRun::description() const {
  return fmt::format("{}: {}, {} of weights, loaded in {:.1f} s; {}", loaded_.checkpoint->path,
                     transformer().layers().description(), readable_bytes(static_cast<double>(loaded_.weight_bytes())),
                     load_seconds_, loaded_.backend->description());
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  return statm >> total >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace millrace::bench
