// What heads say, against the papers' arithmetic in double, one token at a time over all before it.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "draft/speculators/testing/speculators_fixture.h"

namespace millrace::draft {
namespace {

using Vector = std::vector<double>;
using Values = MadeFiles::Values;

constexpr std::int64_t kHeads = 4, kKvHeads = 2, kHeadDim = 16;

Vector times(const Values& weight, const Vector& x) {
  Vector y(weight.size() / x.size());
  for (std::size_t r = 0; r < y.size(); ++r) {
    for (std::size_t c = 0; c < x.size(); ++c) y[r] += static_cast<double>(weight[r * x.size() + c]) * x[c];
  }
  return y;
}

Vector plus(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Vector rms_norm(const Values& weight, Vector x) {
  double squares = 0.0;
  for (const double v : x) squares += v * v;
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-6);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= scale * static_cast<double>(weight[i]);
  return x;
}

Vector beside(Vector a, const Vector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Vector softmax(Vector logits, double temperature) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (double& v : logits) sum += v = std::exp((v - largest) / temperature);
  for (double& v : logits) v /= sum;
  return logits;
}

double silu(double x) { return x / (1.0 + std::exp(-x)); }

void rotate(double* head, std::int64_t position) {
  for (std::int64_t i = 0; i < kHeadDim / 2; ++i) {
    const double angle = static_cast<double>(position) * std::pow(10000.0, -2.0 * static_cast<double>(i) / kHeadDim);
    const double a = head[i], b = head[i + kHeadDim / 2];
    head[i] = a * std::cos(angle) - b * std::sin(angle);
    head[i + kHeadDim / 2] = b * std::cos(angle) + a * std::sin(angle);
  }
}

// A layer with all keys and values so far.
class Layer {
 public:
  Layer(const MadeFiles& files, std::string prefix) : files_(files), prefix_(std::move(prefix)) {}

  // `x`: the residual; `seen`: what attention looks at.
  Vector next(Vector x, const Vector& seen) {
    const auto position = std::ssize(keys_);
    Vector q = projected("self_attn.q_proj", seen), k = projected("self_attn.k_proj", seen);
    for (std::int64_t h = 0; h < kHeads; ++h) rotate(q.data() + h * kHeadDim, position);
    for (std::int64_t h = 0; h < kKvHeads; ++h) rotate(k.data() + h * kHeadDim, position);
    keys_.push_back(k);
    values_.push_back(projected("self_attn.v_proj", seen));
    const std::int64_t value_dim = std::ssize(values_.back()) / kKvHeads;
    Vector attended(static_cast<std::size_t>(kHeads * value_dim));
    for (std::int64_t h = 0; h < kHeads; ++h) {
      attend(q.data() + h * kHeadDim, h / 2,
             std::span(attended).subspan(static_cast<std::size_t>(h * value_dim), static_cast<std::size_t>(value_dim)));
    }
    x = plus(x, times(weight("self_attn.o_proj"), attended));
    const Vector n = rms_norm(weight("post_attention_layernorm"), x);
    Vector gate = times(weight("mlp.gate_proj"), n);
    const Vector up = times(weight("mlp.up_proj"), n);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = silu(gate[i]) * up[i];
    return plus(x, times(weight("mlp.down_proj"), gate));
  }
  const Values& weight(const std::string& name) const { return files_.values(prefix_ + name + ".weight"); }

 private:
  Vector projected(const std::string& name, const Vector& x) const {
    Vector y = times(weight(name), x);
    const std::string bias = prefix_ + name + ".bias";
    for (std::size_t i = 0; files_.has(bias) && i < y.size(); ++i) y[i] += static_cast<double>(files_.values(bias)[i]);
    return y;
  }
  void attend(const double* q, std::int64_t kv_head, std::span<double> out) const {
    Vector weights;
    for (const Vector& key : keys_) {
      double dot = 0.0;
      for (std::int64_t i = 0; i < kHeadDim; ++i) dot += q[i] * key[static_cast<std::size_t>(kv_head * kHeadDim + i)];
      weights.push_back(dot);
    }
    weights = softmax(weights, 4.0);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const double* value = values_[t].data() + kv_head * std::ssize(out);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += weights[t] * value[i];
    }
  }

  const MadeFiles& files_;
  std::string prefix_;
  std::vector<Vector> keys_, values_;
};

// What a head makes of a token and the state before it: logits, and what it passes on for the next state.
struct Said {
  Vector logits, state;
};
using Head = std::function<Said(const Vector& token, const Vector& state)>;

class SpeculatorsTest : public MadeHeadsTest {
 protected:
  using MadeHeadsTest::MadeHeadsTest;

  static constexpr double kTemperature = 0.3;

  Vector stream(std::size_t layer, std::int64_t position) const {
    const auto begin = streams_[layer].begin() + position * kHidden;
    return {begin, begin + kHidden};
  }
  Vector normed(std::int64_t position) const {
    return rms_norm(files_.values("model.norm.weight"), stream(2, position));
  }
  static Vector embedded(const MadeFiles& files, const std::string& name, std::int32_t token) {
    const auto begin = files.values(name).begin() + token * kHidden;
    return {begin, begin + kHidden};
  }

  // What the drafter samples from after so many tokens is what the head says, along what it drew. `begin` makes the
  // head anew; `state` is the target's at a position; `embed` a token's.
  void expect(Drafter& drafter, const std::function<Head()>& begin, const std::function<Vector(std::int64_t)>& state,
              const std::function<Vector(std::int32_t)>& embed) {
    decode::SamplingParams params;
    params.temperature = kTemperature;
    const decode::LogitsPipeline pipeline(params, kVocabulary);
    std::size_t most = 0;
    std::int64_t shown = 0;
    for (const std::int64_t n : {2, 3, 9, 33, 34, 36, 40}) {
      show(*drafter.hook(), shown, n - 1, 5);
      shown = n - 1;
      const Task task = draft(drafter, n, pipeline);
      ASSERT_FALSE(task.drafts.empty()) << n;
      const Head head = begin();
      Said said;
      for (std::int64_t i = 0; i + 1 < n; ++i) said = head(embed(tokens_[static_cast<std::size_t>(i + 1)]), state(i));
      for (std::size_t j = 0; j < task.drafts.size(); ++j) {
        if (j > 0) said = head(embed(task.drafts[j - 1].token), said.state);
        expect_drawn_from(task.distributions[j], softmax(said.logits, kTemperature));
      }
      most = std::max(most, task.drafts.size());
    }
    EXPECT_GE(most, 3u);
  }
  void expect_mtp();
  static void expect_drawn_from(const std::vector<decode::TokenProbability>& found, const Vector& expected) {
    Vector all(expected.size());
    for (const auto& one : found) all[static_cast<std::size_t>(one.token)] = one.probability;
    for (std::size_t v = 0; v < all.size(); ++v) ASSERT_NEAR(all[v], expected[v], 1e-3) << v;
  }
};

TEST_F(SpeculatorsTest, OfEagleMakeTheNextStateOfTheLastOneAndTheNextToken) {
  const MadeFiles files = heads_.eagle();
  const auto drafter = make_drafter("eagle", options(files.write("eagle", heads_.eagle_config()))).or_throw();
  const auto begin = [&]() -> Head {
    return [&, layer = Layer(files, "layers.0.")](const Vector& token, const Vector& state) mutable -> Said {
      const Vector bias(files.values("fc.bias").begin(), files.values("fc.bias").end());
      const Vector x = plus(times(files.values("fc.weight"), beside(token, state)), bias);
      const Vector next = layer.next(x, x);
      return {times(files_.values("lm_head.weight"), next), next};
    };
  };
  expect(
      *drafter, begin, [&](std::int64_t position) { return normed(position); },
      [&](std::int32_t token) { return embedded(files, "embed_tokens.weight", token); });
}

TEST_F(SpeculatorsTest, OfEagle3SeeThreeStreamsAndKnowPartOfTheVocabulary) {
  const MadeFiles files = heads_.eagle3();
  const auto drafter = make_drafter("eagle", options(files.write("eagle3", heads_.eagle3_config()))).or_throw();
  const auto begin = [&]() -> Head {
    return [&, layer = Layer(files, "midlayer.")](const Vector& token, const Vector& state) mutable -> Said {
      const Vector seen = beside(rms_norm(files.values("midlayer.input_layernorm.weight"), token),
                                 rms_norm(files.values("midlayer.hidden_norm.weight"), state));
      const Vector next = layer.next(state, seen);
      const Vector of_rows = times(files.values("lm_head.weight"), rms_norm(files.values("norm.weight"), next));
      Vector logits(kVocabulary, -std::numeric_limits<double>::infinity());
      std::ranges::copy(of_rows, logits.begin() + 20);
      return {logits, next};
    };
  };
  const auto state = [&](std::int64_t position) {
    return times(files.values("fc.weight"),
                 beside(beside(stream(0, position), stream(1, position)), stream(2, position)));
  };
  expect(*drafter, begin, state,
         [&](std::int32_t token) { return embedded(files_, "model.embed_tokens.weight", token); });
}

void SpeculatorsTest::expect_mtp() {
  const auto drafter = make_drafter("mtp", options("")).or_throw();
  const std::string prefix = "model.mtp_layers.0.";
  const auto begin = [&]() -> Head {
    return [&, layer = Layer(files_, prefix)](const Vector& token, const Vector& state) mutable -> Said {
      const Vector x = times(layer.weight("input_proj"), beside(rms_norm(layer.weight("hidden_layernorm"), state),
                                                                rms_norm(layer.weight("token_layernorm"), token)));
      const Vector next =
          rms_norm(layer.weight("final_layernorm"), layer.next(x, rms_norm(layer.weight("input_layernorm"), x)));
      return {times(files_.values("lm_head.weight"), next), next};
    };
  };
  expect(
      *drafter, begin, [&](std::int64_t position) { return normed(position); },
      [&](std::int32_t token) { return embedded(files_, "model.embed_tokens.weight", token); });
}

TEST_F(SpeculatorsTest, ForMultiTokenPredictionAreNormedOnBothSides) { expect_mtp(); }

// The layer for multi-token prediction has the sizes of the model, a head of EAGLE its own.
class HeadsOnOtherValues : public SpeculatorsTest {
 protected:
  HeadsOnOtherValues() : SpeculatorsTest(24) {}
};

TEST_F(HeadsOnOtherValues, ForMultiTokenPredictionHaveValuesOfThatSize) { expect_mtp(); }

TEST_F(SpeculatorsTest, OfMedusaEachGuessATokenOfTheSameState) {
  const MadeFiles files = heads_.medusa();
  const std::string directory = files.write("medusa", RandomHeads::medusa_config(), "medusa_lm_head.safetensors");
  const auto drafter = make_drafter("medusa", options(directory)).or_throw();
  decode::SamplingParams params;
  params.temperature = kTemperature;
  const decode::LogitsPipeline pipeline(params, kVocabulary);
  std::size_t most = 0;
  for (const std::int64_t n : {2, 9, 34, 40}) {
    show(*drafter->hook(), 0, n - 1, 5);
    const Task task = draft(*drafter, n, pipeline);
    ASSERT_FALSE(task.drafts.empty());
    for (std::size_t h = 0; h < task.drafts.size(); ++h) {
      const std::string name = "medusa_head." + std::to_string(h) + ".";
      Vector x = normed(n - 2);
      for (const char* block : {"0", "1"}) {
        const Values& bias = files.values(name + block + ".linear.bias");
        Vector y = plus(times(files.values(name + block + ".linear.weight"), x), Vector(bias.begin(), bias.end()));
        for (double& v : y) v = silu(v);
        x = plus(x, y);
      }
      expect_drawn_from(task.distributions[h], softmax(times(files.values(name + "2.weight"), x), kTemperature));
    }
    most = std::max(most, task.drafts.size());
  }
  EXPECT_EQ(most, 3u);  // as many as there are heads
}

// Heads look at no token: behind another first token they say the same.
TEST_F(SpeculatorsTest, OfMedusaBranchWithWhatLaterHeadsSay) {
  const std::string directory = heads_.medusa().write("branching_medusa", RandomHeads::medusa_config());
  const auto drafter = make_drafter("medusa", options(directory)).or_throw();
  show(*drafter->hook(), 0, 39, 5);
  std::size_t longest = 0;
  for (const std::int64_t n : {2, 9, 34, 40}) {
    const Task task = draft(*drafter, n, decode::LogitsPipeline({}, kVocabulary), 3);
    EXPECT_FALSE(task.branches.empty());
    for (const Branch& branch : task.branches) {
      ASSERT_EQ(branch.from + std::ssize(branch.tokens), std::ssize(task.drafts));
      EXPECT_NE(branch.tokens[0].token, task.drafts[static_cast<std::size_t>(branch.from)].token);
      for (std::size_t j = 1; j < branch.tokens.size(); ++j) {
        EXPECT_EQ(branch.tokens[j].token, task.drafts[static_cast<std::size_t>(branch.from) + j].token);
      }
      longest = std::max(longest, branch.tokens.size());
    }
  }
  EXPECT_EQ(longest, 3u);
}

// Pages whose states are not the target's draft nothing, until the target computes them again.
TEST_F(SpeculatorsTest, SayNothingOfPagesWrittenFromOutside) {
  const std::string eagle = heads_.eagle().write("outside_eagle", heads_.eagle_config());
  const std::string medusa = heads_.medusa().write("outside_medusa", RandomHeads::medusa_config());
  const decode::LogitsPipeline pipeline({}, kVocabulary);
  for (const auto& [method, directory] : {std::pair("eagle", eagle), {"medusa", medusa}, {"mtp", std::string()}}) {
    const auto drafter = make_drafter(method, options(directory)).or_throw();
    EXPECT_TRUE(draft(*drafter, 36, pipeline).drafts.empty());
    show(*drafter->hook(), 0, 35, 7);
    EXPECT_FALSE(draft(*drafter, 36, pipeline).drafts.empty());
    for (const kv::BlockId page : pages_) drafter->listener()->rewritten(page);
    EXPECT_TRUE(draft(*drafter, 36, pipeline).drafts.empty());
    show(*drafter->hook(), 0, 35, 35);
    const Task before = draft(*drafter, 36, pipeline);
    EXPECT_FALSE(before.drafts.empty());
    // A copy has what the page had.
    drafter->listener()->copied(pages_[1], 7);
    pages_[1] = 7;
    const Task after = draft(*drafter, 36, pipeline);
    pages_[1] = 2;
    ASSERT_EQ(after.drafts.size(), before.drafts.size());
    EXPECT_EQ(after.drafts[0].token, before.drafts[0].token);
    EXPECT_EQ(after.drafts[0].confidence, before.drafts[0].confidence);
  }
}

}  // namespace
}  // namespace millrace::draft
