// A model with windows over a long context holds little more than what its masks see. Its layers are those of Gemma 3:
// five of six have a window.

#include "engine/testing/engine_fixture.h"
#include "model/blocks/attention.h"

namespace millrace::engine {
namespace {

constexpr std::int64_t kWindow = 1024, kLength = 32'768, kAnswer = 96;

TEST(WindowUse, LongContextsHoldLittleMoreThanWhatTheMasksSee) {
  const auto checkpoint =
      checkpoint::open_checkpoint(Env::system(), std::string(MILLRACE_TEST_DATA) + "/../golden/families/gemma3_text")
          .or_throw();
  model::ModelSpec spec = model::make_spec(*checkpoint).or_throw();
  std::int64_t windows = 0;
  for (model::LayerSpec& layer : spec.layers) {
    std::int64_t& window = layer.get<model::AttentionParams>().window;
    if (window == 0) continue;
    window = kWindow;
    ++windows;
  }
  ASSERT_EQ(windows, 5);
  const auto backend = backend::make_test_backend(2);
  model::Transformer transformer(*checkpoint, std::move(spec), *backend, {.max_length = kLength});
  auto executor = LocalExecutor::create(transformer, *backend, {}, kLength, 1, 64).or_throw();
  const auto tokenizer = text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt2")).or_throw();
  const auto engine = Engine::create(std::move(executor), tokenizer, Env::system(), {}, nullptr).or_throw();
  Request request;
  request.tokens = random_tokens(static_cast<std::size_t>(kLength - kAnswer), 1);
  request.sampling.max_tokens = kAnswer;
  request.sampling.ignore_eos = true;
  engine->submit(request).or_throw();

  const kv::PagedCache& cache = engine->cache();
  const double page = static_cast<double>(cache.page_bytes()) / static_cast<double>(cache.block_tokens());
  const double window = static_cast<double>(cache.window_page_bytes()) / static_cast<double>(cache.block_tokens());
  ASSERT_EQ(window, 5 * page);
  double highest = 0.0;
  while (!engine->idle()) {
    engine->step();
    if (engine->scheduler().running().empty()) break;
    const std::int64_t computed = engine->scheduler().running().front()->computed;
    if (computed < kLength - kAnswer) continue;
    const double seen = static_cast<double>(computed) * page + static_cast<double>(kWindow) * window;
    highest = std::max(highest, static_cast<double>(cache.use().used_bytes()) / seen);
  }
  RecordProperty("held_of_seen", fmt::format("{:.4f}", highest));
  EXPECT_GE(highest, 1.0);
  EXPECT_LE(highest, 1.1);
  const double before = static_cast<double>(kLength) * (page + window);  // what every layer for every page would take
  EXPECT_LT(static_cast<double>(engine->limits().kv_bytes), before / 3.0);
}

}  // namespace
}  // namespace millrace::engine
