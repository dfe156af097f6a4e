// Models whose layers differ: in what they keep of a token, in how far they look back, in which blocks they have.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "model/block.h"
#include "model/blocks/attention.h"
#include "model/blocks/linear.h"
#include "model/blocks/mlp.h"
#include "model/make_spec.h"
#include "model/memory_plan.h"
#include "model/testing/changed_model.h"
#include "model/testing/random_tokens.h"
#include "model/testing/runner.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

const std::string kTiny = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/";
constexpr std::int64_t kHeadDim = 16, kWindow = 40;  // kHeadDim: of the tiny llama

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << what;
}

ModelSpec with_window(ModelSpec spec) {
  spec.layers[1].get<AttentionParams>().window = kWindow;
  return spec;
}
// The second layer keeps one head of keys and values, and looks back kWindow tokens.
ModelSpec with_two_groups(ModelSpec spec) {
  spec = with_window(std::move(spec));
  spec.layers[1].get<AttentionParams>().kv_heads = 1;
  return spec;
}
std::string one_head_in_layer_1() {
  return write_changed(kTiny + "llama", "one_head", [](ChangedWeights& weights) {
    for (const char* part : {"k_proj", "v_proj"}) {
      weights.cut_rows(std::string("model.layers.1.self_attn.") + part + ".weight", kHeadDim);
    }
  });
}

// Two heads of keys and values of the same weights are one that more queries share.
TEST(TwoKvGroups, ComputeWhatRepeatedHeadsDo) {
  const std::string repeated = write_changed(kTiny + "llama", "repeated", [](ChangedWeights& weights) {
    for (const char* part : {"k_proj", "v_proj"}) {
      auto& values = weights.at(std::string("model.layers.1.self_attn.") + part + ".weight").values;
      std::copy_n(values.begin(), values.size() / 2, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    }
  });
  const std::vector<std::int32_t> tokens = random_tokens(200, 1, 64);
  for (const std::string_view encoding : {"f32", "bf16", "int8"}) {
    const TestRunner::Options options{.kv = encoding, .max_length = 256};
    TestRunner grouped(one_head_in_layer_1(), options, with_two_groups);
    const std::vector<float> logits = grouped.run_whole(tokens);
    expect_same_bits(logits, TestRunner(repeated, options, with_window).run_whole(tokens), std::string(encoding));
    EXPECT_NE(logits, TestRunner(repeated, options).run_whole(tokens)) << "the window is not seen";
  }
}

// Chunks, neighbours and threads change no bit.
void expect_invariance(const std::string& path, const std::function<ModelSpec(ModelSpec)>& change) {
  const std::vector<std::int32_t> tokens = random_tokens(600, 2, 64), other = random_tokens(250, 3, 64);
  TestRunner::Options options{.kv = "bf16", .max_length = 1024};
  TestRunner runner(path, options, change);
  const std::vector<float> whole = runner.run_whole(tokens), other_whole = runner.run_whole(other);
  std::vector<std::vector<TestRunner::Chunk>> chunked, mixed;
  std::mt19937 random(4);
  for (std::int64_t left = 600, other_left = 250; left > 0;) {
    const auto n = std::min(left, random() % 3 == 0 ? 1 : 1 + static_cast<std::int64_t>(random() % 60));
    left -= n;
    chunked.push_back({{0, n}});
    mixed.push_back({{0, n}});
    const auto m = std::min(other_left, left == 0 ? other_left : 1 + static_cast<std::int64_t>(random() % 30));
    other_left -= m;
    if (m > 0) mixed.back().insert(mixed.back().begin(), TestRunner::Chunk{1, m});
  }
  expect_same_bits(runner.run({tokens}, chunked)[0], whole, "chunked");
  const auto both = runner.run({tokens, other}, mixed);
  expect_same_bits(both[0], whole, "with a neighbour");
  expect_same_bits(both[1], other_whole, "the neighbour");
  options.threads = 3;
  expect_same_bits(TestRunner(path, options, change).run({tokens}, chunked)[0], whole, "three threads");
}

TEST(TwoKvGroups, ChunksNeighboursAndThreadsChangeNoBit) { expect_invariance(one_head_in_layer_1(), with_two_groups); }

// The second layer's values have kValueDim dimensions, more than its keys, random ones but for the first of each head.
constexpr std::int64_t kValueDim = 24;
ModelSpec with_other_values(ModelSpec spec) {
  spec.layers[1].get<AttentionParams>().value_dim = kValueDim;
  return spec;
}
std::string other_values_in_layer_1(bool zeros) {
  return write_changed(kTiny + "llama", zeros ? "zero_values" : "other_values", [zeros](ChangedWeights& weights) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0.0f, 0.3f);
    const auto made = [&] { return zeros ? 0.0f : normal(random); };
    weights.widen_rows("model.layers.1.self_attn.v_proj.weight", kHeadDim, kValueDim, made);
    weights.widen_columns("model.layers.1.self_attn.o_proj.weight", kHeadDim, kValueDim, made);
  });
}

// Dimensions of zeros that products with zeros take are none.
TEST(OtherValues, OfZerosBehindThoseOfTheModelComputeWhatItDoes) {
  const std::vector<std::int32_t> tokens = random_tokens(200, 6, 64);
  const TestRunner::Options options{.max_length = 256};
  const std::vector<float> expected = TestRunner(kTiny + "llama", options).run_whole(tokens);
  const std::vector<float> logits =
      TestRunner(other_values_in_layer_1(true), options, with_other_values).run_whole(tokens);
  ASSERT_EQ(logits.size(), expected.size());
  for (std::size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 2e-5) << i;
}

TEST(OtherValues, InOneOfTheLayersChangeNoBitOverChunksNeighboursAndThreads) {
  expect_invariance(other_values_in_layer_1(false), with_other_values);
}

TEST(OtherValues, AreInTheMemoryPlanWithTheirOwnSize) {
  for (const auto& [encoding, size] :
       {std::pair<std::string_view, std::size_t>{"f32", 4}, {"f16", 2}, {"bf16", 2}, {"int8", 1}}) {
    TestRunner runner(other_values_in_layer_1(false), {.kv = encoding, .max_length = 64}, with_other_values);
    const ModelSpec& spec = runner.transformer().spec();
    const std::size_t scales = size == 1 ? 2 * sizeof(float) : 0;
    const std::size_t padded = 32;  // kValueDim
    const std::uint64_t token = 2 * (2 * kHeadDim * size + scales) + 2 * ((kHeadDim + padded) * size + scales);
    EXPECT_EQ(kv_bytes_per_token(spec, {.encoding = encoding}, runner.backend()), token);
    const MemoryPlan plan = plan_memory(CheckpointWeights(runner.checkpoint()), spec, runner.backend(),
                                        {.kv = {.encoding = encoding}, .length = 33});
    EXPECT_EQ(plan.weights, runner.transformer().weight_bytes());
    EXPECT_EQ(plan.kv, 64 * token);  // two pages
  }
}

TEST(OtherValues, MakeTwoGroupsOfLayersThatAreOtherwiseAlike) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), kTiny + "llama").or_throw();
  const auto groups = kv::group_layers(kv_needs(with_other_values(make_spec(*checkpoint).or_throw())), {}).groups;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].need.value_dim, kHeadDim);
  EXPECT_EQ(groups[1].need.value_dim, kValueDim);
}

TEST(TwoKvGroups, AreInTheMemoryPlanEachWithItsHeads) {
  TestRunner runner(one_head_in_layer_1(), {.max_length = 64}, with_two_groups);
  const ModelSpec& spec = runner.transformer().spec();
  EXPECT_EQ(kv_bytes_per_token(spec, {.encoding = "bf16"}, runner.backend()),
            (2u + 1u) * 2 * kHeadDim * 2);  // heads, K and V, size, bytes
  const MemoryPlan plan = plan_memory(CheckpointWeights(runner.checkpoint()), spec, runner.backend(),
                                      {.kv = {.encoding = "bf16"}, .length = 33});
  EXPECT_EQ(plan.weights, runner.transformer().weight_bytes());
  EXPECT_EQ(plan.kv, 64 * kv_bytes_per_token(spec, {.encoding = "bf16"}, runner.backend()));  // two pages
}

TEST(TwoKvGroups, AreWhatTheGoldenModelWithOneWindowHas) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), kTiny + "qwen2_window").or_throw();
  const auto groups = kv::group_layers(kv_needs(make_spec(*checkpoint).or_throw()), {}).groups;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].need.window, 0);
  EXPECT_EQ(groups[1].need.window, 8);
  EXPECT_EQ(groups[1].layers, std::vector<std::int64_t>{1});
}

// Query heads that the file has in another order, which the spec says, are the same heads.
TEST(HeadTurns, ComputeWhatHeadsSideBySideDo) {
  const HeadTurns turns{.size = kHeadDim, .groups = 2};
  const std::string by_turns = write_changed(kTiny + "llama", "by_turns", [&](ChangedWeights& weights) {
    for (const char* layer : {"0", "1"}) {
      const std::string prefix = std::string("model.layers.") + layer + ".self_attn.";
      ChangedWeights::Tensor& q = weights.at(prefix + "q_proj.weight");
      ChangedWeights::Tensor& o = weights.at(prefix + "o_proj.weight");
      const std::int64_t rows = q.shape[0], cols = q.shape[1], inputs = o.shape[1];
      const std::vector<float> old_q = q.values, old_o = o.values;
      for (std::int64_t i = 0; i < rows; ++i) {
        std::copy_n(old_q.begin() + i * cols, cols, q.values.begin() + turns.place(i, rows) * cols);
      }
      for (std::int64_t i = 0; i < std::ssize(old_o); ++i) {
        const std::int64_t row = i / inputs;
        o.values[static_cast<std::size_t>(row * inputs + turns.place(i % inputs, inputs))] =
            old_o[static_cast<std::size_t>(i)];
      }
    }
  });
  const auto said = [](ModelSpec spec) {
    for (LayerSpec& layer : spec.layers) layer.get<AttentionParams>().heads_by_turns = true;
    return spec;
  };
  const std::vector<std::int32_t> tokens = random_tokens(100, 8, 64);
  const TestRunner::Options options{.max_length = 128};
  const std::vector<float> expected = TestRunner(kTiny + "llama", options).run_whole(tokens);
  expect_same_bits(TestRunner(by_turns, options, said).run_whole(tokens), expected, "by turns");
  EXPECT_NE(TestRunner(by_turns, options).run_whole(tokens), expected) << "the order is not seen";
}

// Attention whose outputs are multiplied with zeros adds nothing.
TEST(BlockList, ALayerWithoutAttentionComputesAsOneWhoseAttentionAddsNothing) {
  const std::string idle = write_changed(kTiny + "llama", "idle", [](ChangedWeights& weights) {
    for (float& v : weights.at("model.layers.0.self_attn.o_proj.weight").values) v = 0.0f;
  });
  const std::string without = write_changed(kTiny + "llama", "without", [](ChangedWeights& weights) {
    weights.erase("model.layers.0.self_attn.");
    weights.erase("model.layers.0.input_layernorm.");
  });
  const std::vector<std::int32_t> tokens = random_tokens(90, 5, 64);
  const TestRunner::Options options{.max_length = 128};
  TestRunner runner(without, options, [](ModelSpec spec) {
    spec.layers[0].blocks.erase(spec.layers[0].blocks.begin());
    return spec;
  });
  EXPECT_EQ(runner.transformer().kv_groups({}).layers(), 1);
  expect_same_bits(runner.run_whole(tokens), TestRunner(idle, options).run_whole(tokens), "logits");
}

// A channel of zeros is none, whichever of the two the file has.
TEST(OddWidths, ComputeAsOnesWithAChannelOfZeros) {
  constexpr std::int64_t kWidth = 64;  // of the tiny llama
  const std::string mlp = "model.layers.1.mlp.";
  const auto change = [&](bool cut) {
    return write_changed(kTiny + "llama", cut ? "odd" : "zero_channel", [&](ChangedWeights& weights) {
      for (const char* part : {"gate_proj", "up_proj"}) {
        auto& tensor = weights.at(mlp + part + ".weight");
        std::fill(tensor.values.begin() + (kWidth - 1) * tensor.shape[1], tensor.values.end(), 0.0f);
        if (cut) weights.cut_rows(mlp + part + ".weight", kWidth - 1);
      }
      auto& down = weights.at(mlp + "down_proj.weight");
      std::vector<float> values;
      for (std::size_t i = 0; i < down.values.size(); ++i) {
        if (!cut || i % kWidth != kWidth - 1) values.push_back(down.values[i]);
      }
      down = {{down.shape[0], cut ? kWidth - 1 : kWidth}, std::move(values)};
    });
  };
  const auto odd = [](ModelSpec spec) {
    spec.layers[1].get<MlpParams>().width = kWidth - 1;
    return spec;
  };
  const std::vector<std::int32_t> tokens = random_tokens(90, 11, 64);
  const TestRunner::Options options{.max_length = 128};
  const std::vector<float> expected = TestRunner(change(false), options).run_whole(tokens);
  expect_same_bits(TestRunner(change(true), options, odd).run_whole(tokens), expected, "logits");
  expect_invariance(change(true), odd);
}

// A matrix in place of an MLP computes what an MLP does that lets its input through.
TEST(Matrices, ComputeWhatAnMlpOfNoActivationDoes) {
  const std::string mlp = "model.layers.0.mlp.";
  const auto matrix = [](ModelSpec spec) {
    spec.layers[0].blocks[1] = LinearParams{.size = spec.hidden_size,
                                            .norm = spec.layers[0].get<MlpParams>().norm,
                                            .norm_name = "model.layers.{}.post_attention_layernorm",
                                            .weight_name = "model.layers.{}.mlp.matrix",
                                            .role = "ffn_linear"};
    return spec;
  };
  const auto relu = [](ModelSpec spec) {
    auto& params = spec.layers[0].get<MlpParams>();
    params.gated = false;
    params.activation = backend::Activation::kRelu;
    params.width *= 2;
    return spec;
  };
  // relu(x) - relu(-x) is x.
  const std::string let_through = write_changed(kTiny + "llama", "let_through", [&](ChangedWeights& weights) {
    weights.erase(mlp + "gate_proj.");
    auto& up = weights.at(mlp + "up_proj.weight");
    const std::vector<float> half = up.values;
    for (const float v : half) up.values.push_back(-v);
    up.shape = {2 * up.shape[0], up.shape[1]};
    auto& down = weights.at(mlp + "down_proj.weight");
    std::vector<float> both;
    for (std::int64_t row = 0; row < down.shape[0]; ++row) {
      for (const float sign : {1.0f, -1.0f}) {
        for (std::int64_t i = 0; i < down.shape[1]; ++i) {
          both.push_back(sign * down.values[static_cast<std::size_t>(row * down.shape[1] + i)]);
        }
      }
    }
    down = {{down.shape[0], 2 * down.shape[1]}, std::move(both)};
  });
  const std::string product = write_changed(kTiny + "llama", "product", [&](ChangedWeights& weights) {
    const auto up = weights.at(mlp + "up_proj.weight"), down = weights.at(mlp + "down_proj.weight");
    const std::int64_t hidden = down.shape[0], width = down.shape[1];
    std::vector<float> values;
    for (std::int64_t row = 0; row < hidden; ++row) {
      for (std::int64_t col = 0; col < hidden; ++col) {
        double sum = 0.0;
        for (std::int64_t i = 0; i < width; ++i) {
          sum += static_cast<double>(down.values[static_cast<std::size_t>(row * width + i)]) *
                 up.values[static_cast<std::size_t>(i * hidden + col)];
        }
        values.push_back(static_cast<float>(sum));
      }
    }
    weights.erase(mlp);
    weights.tensors[mlp + "matrix.weight"] = {{hidden, hidden}, std::move(values)};
  });
  const std::vector<std::int32_t> tokens = random_tokens(90, 12, 64);
  const TestRunner::Options options{.max_length = 128};
  const std::vector<float> expected = TestRunner(let_through, options, relu).run_whole(tokens);
  const std::vector<float> found = TestRunner(product, options, matrix).run_whole(tokens);
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0.0f;
  for (const float v : expected) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5f * largest) << i;
  expect_invariance(product, matrix);
}

TEST(BlockKinds, AreInTheTableOnceAndSayTheSameOfTheirWeightsAndWork) {
  std::set<std::string_view> names;
  for (const BlockKind& kind : all_block_kinds()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
  EXPECT_TRUE(names.contains("attention") && names.contains("mlp") && names.contains("linear"));

  for (const char* family : {"llama", "qwen3", "gpt2", "mistral_window", "qwen2", "llama_k20_v12/model.gguf"}) {
    const auto checkpoint = checkpoint::open_checkpoint(Env::system(), kTiny + family).or_throw();
    const ModelSpec spec = make_spec(*checkpoint).or_throw();
    const auto full = [](const std::string& pattern) { return WeightLoader::layer_name(pattern, 1) + ".weight"; };
    const HasTensor has = [&](const std::string& pattern) { return checkpoint->find(full(pattern)) != nullptr; };
    for (const BlockSpec& block : spec.layers[1].blocks) {
      double elements = 0.0;
      for (const BlockWeight& weight : kind_of(block).weights(block, spec, has)) {
        const checkpoint::RawTensor* tensor = checkpoint->find(full(weight.name));
        ASSERT_NE(tensor, nullptr) << weight.name;
        EXPECT_EQ(tensor->shape.elements(), weight.tensor_rows() * std::max<std::int64_t>(1, weight.cols))
            << weight.name;
        elements += static_cast<double>(weight.rows * weight.cols);
      }
      EXPECT_EQ(kind_of(block).work(block, spec).operations, 2.0 * elements) << family << " " << block.kind();
    }
  }
}

TEST(BlockKinds, SayWhatTheyKeepAndNeed) {
  const BlockSpec attention(AttentionParams{.heads = 6, .kv_heads = 2, .head_dim = 20, .window = 7});
  EXPECT_EQ(kind_of(attention).kv(attention), (kv::KvNeed{.kv_heads = 2, .key_dim = 20, .value_dim = 20, .window = 7}));
  EXPECT_EQ(kind_of(attention).workspace(attention, {}).columns, (std::vector<std::int64_t>{200, 120}));
  const BlockSpec values(AttentionParams{.heads = 6, .kv_heads = 2, .head_dim = 20, .value_dim = 12});
  EXPECT_EQ(kind_of(values).kv(values), (kv::KvNeed{.kv_heads = 2, .key_dim = 20, .value_dim = 12}));
  EXPECT_EQ(kind_of(values).workspace(values, {}).columns, (std::vector<std::int64_t>{120 + 40 + 24, 72}));
  for (const std::int64_t window : {0, 5, 9}) {
    const BlockSpec chunked(AttentionParams{.heads = 6, .kv_heads = 2, .head_dim = 20, .window = window, .chunk = 7});
    EXPECT_EQ(kind_of(chunked).kv(chunked)->window, window == 5 ? 5 : 7);
  }
  const BlockSpec mlp(MlpParams{.width = 64});
  EXPECT_EQ(kind_of(mlp).kv(mlp), std::nullopt);
  EXPECT_EQ(kind_of(mlp).workspace(mlp, {}).ffn, 64);
}

}  // namespace
}  // namespace millrace::model
