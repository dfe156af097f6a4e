// What the engine's pages hold: exceptions of layers, scales of the checkpoint, numbers that do not fit.

#include "backend/cpu/kv_layout.h"
#include "engine/testing/engine_fixture.h"
#include "model/testing/changed_model.h"

namespace millrace::engine {
namespace {

class KvExceptionsTest : public EngineTest {
 protected:
  static backend::KvFormat pages(std::string_view encoding, std::vector<backend::KvException> exceptions) {
    backend::KvFormat format = backend::cpu::choose_pages(encoding, "paged32", 32).or_throw();
    format.exceptions = std::make_shared<const std::vector<backend::KvException>>(std::move(exceptions));
    return format;
  }
};

TEST_F(KvExceptionsTest, GiveALayerPagesOfItsOwn) {
  const auto engine = make(33, 4096, pages("int4", {{0, 0, "f32"}}));
  EXPECT_EQ(executor_->store().layer(0).format.encoding, "f32");
  EXPECT_EQ(executor_->store().layer(1).format.encoding, "int4");
  EXPECT_EQ(answers_over(pages("int4", {{0, 1, "bf16"}})), answers_over(pages("bf16", {})));
  EXPECT_EQ(answers_over(pages("f32", {{0, 1, "int8"}, {1, 1, "f32"}})), answers_over(pages("int8", {{1, 1, "f32"}})));
}

TEST_F(KvExceptionsTest, AreRefusedForALayerThatTheModelDoesNotHave) {
  const auto made = LocalExecutor::create(transformer_, *backend_, pages("int4", {{1, 2, "bf16"}}), 64);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "kv-exceptions names layer 2: the model has 2 layers that keep keys and values");
}

constexpr std::int32_t kLargeKey = 13;

// A token whose key in the first layer is in the thousands, and no other's; `scale` of the keys, 0: none.
std::string with_large_key(float scale) {
  return model::write_changed(kModel, fmt::format("large_key_{}", scale), [=](model::ChangedWeights& weights) {
    auto& embedding = weights.at("model.embed_tokens.weight");
    auto& keys = weights.at("model.layers.0.self_attn.k_proj.weight");
    const auto width = static_cast<std::size_t>(embedding.shape[1]);
    for (std::size_t t = 0; t * width < embedding.values.size(); ++t) {
      embedding.values[t * width] = t == kLargeKey ? 1.0f : 0.0f;
    }
    for (std::size_t r = 0; r * width < keys.values.size(); ++r) keys.values[r * width] = 1e4f;
    if (scale > 0.0f) weights.tensors["model.layers.0.self_attn.k_proj.k_scale"] = {Shape{1}, {scale}};
  });
}

class LargeKeyTest : public EngineTest {
 protected:
  explicit LargeKeyTest(float scale = 0.0f) : EngineTest(with_large_key(scale)) {}
  static Request without(Request r) {
    for (std::int32_t& token : r.tokens) token = token == kLargeKey ? 14 : token;
    r.sampling.logit_bias = {{kLargeKey, -100.0f}};
    return r;
  }
  const backend::KvFormat pages_ = backend::cpu::choose_pages("fp8", "paged32", 32).or_throw();
};

TEST_F(LargeKeyTest, FailsItsRequestAloneWhereFp8HasNoScale) {
  const Request well = without(request(30, 4, 12));
  Request broken = without(request(30, 6, 12));
  broken.tokens[20] = kLargeKey;
  const auto alone = make(512, 4096, pages_);
  const Collected expected = drain(*alone, alone->submit(well).or_throw()).at(0);
  ASSERT_EQ(expected.tokens.size(), 12u);
  const auto together = make(512, 4096, pages_);
  const RequestId first = together->submit(broken).or_throw(), second = together->submit(well).or_throw();
  auto answers = drain(*together);
  ASSERT_TRUE(answers.at(first).last.error);
  const std::string& message = answers.at(first).last.error->message;
  EXPECT_TRUE(message.starts_with("layer 0: a key of ")) << message;
  EXPECT_NE(message.find("at position 20 is more than fp8_e4m3 holds"), std::string::npos) << message;
  EXPECT_EQ(answers.at(second).tokens, expected.tokens);
  EXPECT_EQ(together->counters().numerical_errors, 1);
  together->check_integrity();
  const auto in_bf16 = make(512, 4096);
  EXPECT_EQ(drain(*in_bf16, in_bf16->submit(broken).or_throw()).at(0).tokens.size(), 12u);
}

class ScaledKeyTest : public LargeKeyTest {
 protected:
  ScaledKeyTest() : LargeKeyTest(1024.0f) {}
};

TEST_F(ScaledKeyTest, FitsWithTheScaleOfTheCheckpoint) {
  Request large = without(request(30, 6, 12));
  large.tokens[20] = kLargeKey;
  const auto engine = make(512, 4096, pages_);
  EXPECT_EQ(drain(*engine, engine->submit(large).or_throw()).at(0).tokens.size(), 12u);
}

}  // namespace
}  // namespace millrace::engine
