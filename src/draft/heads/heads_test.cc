// What heads say, against the papers' arithmetic in double, one token at a time over all before it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "draft/drafter.h"
#include "draft/heads/made_heads.h"
#include "model/synth/synth_heads.h"

namespace millrace::draft {
namespace {

using Vector = std::vector<double>;
using Values = MadeFiles::Values;

const std::string kTiny = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama";
constexpr std::int64_t kHidden = 32, kVocabulary = 64, kHeads = 4, kKvHeads = 2, kHeadDim = 16;

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
    Vector attended(kHeads * kHeadDim);
    for (std::int64_t h = 0; h < kHeads; ++h) attend(q.data() + h * kHeadDim, h / 2, attended.data() + h * kHeadDim);
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
  void attend(const double* q, std::int64_t kv_head, double* out) const {
    Vector weights;
    for (const Vector& key : keys_) {
      double dot = 0.0;
      for (std::int64_t i = 0; i < kHeadDim; ++i) dot += q[i] * key[static_cast<std::size_t>(kv_head * kHeadDim + i)];
      weights.push_back(dot);
    }
    weights = softmax(weights, 4.0);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      for (std::int64_t i = 0; i < kHeadDim; ++i) {
        out[i] += weights[t] * values_[t][static_cast<std::size_t>(kv_head * kHeadDim + i)];
      }
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

// A sequence on a target whose states are made up: 40 tokens, and three streams.
class HeadsTest : public testing::Test {
 protected:
  static constexpr std::int64_t kTokens = 40, kPages = 8, kDrafts = 4;
  static constexpr double kTemperature = 0.3;

  HeadsTest()
      : checkpoint_(checkpoint::open_checkpoint(Env::system(), kTiny).or_throw()),
        backend_(backend::make_cpu_backend({.threads = 2, .isa = ""}).or_throw()) {
    files_.copy(*checkpoint_);
    heads_.add_mtp(files_);
    checkpoint_ =
        checkpoint::open_checkpoint(Env::system(), files_.write("mtp", made_config("MiMoForCausalLM", kHidden, 2)))
            .or_throw();
    target_ = std::make_unique<model::Transformer>(*checkpoint_, model::make_spec(*checkpoint_).or_throw(), *backend_,
                                                   model::ModelOptions{.max_length = 64});
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < kTokens; ++i) tokens_.push_back(static_cast<std::int32_t>(3 + random() % 61));
    for (Values& stream : streams_) {
      stream.resize(static_cast<std::size_t>(kTokens * kHidden));
      for (float& v : stream) v = normal(random);
    }
  }

  DrafterOptions options(const std::string& heads) {
    DrafterOptions options;
    options.heads = heads;
    options.place = {.target = target_.get(),
                     .checkpoint = checkpoint_.get(),
                     .store = nullptr,
                     .backend = backend_.get(),
                     .form = {.dtype = DType::kF32},
                     .pages = kPages,
                     .precision = backend::MatmulPrecision::kF32};
    return options;
  }
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

  // The target's steps over positions [first, end) as the tap sees them, `chunk` tokens each.
  void show(model::StateTap& tap, std::int64_t first, std::int64_t end, std::int64_t chunk) {
    for (; first < end; first += chunk) {
      const std::int64_t n = std::min(chunk, end - first);
      model::BatchInput input;
      input.sequences.push_back({0, n, first, pages_});
      for (std::int64_t layer = 0; layer < 3; ++layer) {
        float* rows = streams_[static_cast<std::size_t>(layer)].data() + first * kHidden;
        tap.pass(layer, TensorView(rows, DType::kF32, {n, kHidden}));
      }
      tap.computed(input);
    }
  }

  Task draft(Drafter& drafter, std::int64_t n, const decode::LogitsPipeline& pipeline, std::int64_t most_branches = 0) {
    Task task;
    task.most_branches = most_branches;
    task.tokens = std::span(tokens_).first(static_cast<std::size_t>(n));
    task.most = kDrafts;
    task.pipeline = &pipeline;
    task.pages = pages_;
    task.wants_distributions = true;
    drafter.draft({&task, 1});
    return task;
  }

  // What the drafter draws from after so many tokens is what the head says, along what it drew. `begin` makes the head
  // anew; `state` is the target's at a position; `embed` a token's.
  void expect(Drafter& drafter, const std::function<Head()>& begin, const std::function<Vector(std::int64_t)>& state,
              const std::function<Vector(std::int32_t)>& embed) {
    decode::SamplingParams params;
    params.temperature = kTemperature;
    const decode::LogitsPipeline pipeline(params, kVocabulary);
    std::size_t most = 0;
    std::int64_t shown = 0;
    for (const std::int64_t n : {2, 3, 9, 33, 34, 36, 40}) {
      show(*drafter.tap(), shown, n - 1, 5);
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
  static void expect_drawn_from(const std::vector<decode::TokenProbability>& found, const Vector& expected) {
    Vector all(expected.size());
    for (const auto& one : found) all[static_cast<std::size_t>(one.token)] = one.probability;
    for (std::size_t v = 0; v < all.size(); ++v) ASSERT_NEAR(all[v], expected[v], 1e-3) << v;
  }

  RandomHeads heads_{kHidden};
  MadeFiles files_;  // of the target
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::unique_ptr<backend::Backend> backend_;
  std::unique_ptr<model::Transformer> target_;
  std::vector<std::int32_t> tokens_;
  std::array<Values, 3> streams_;  // in front of layers 0 and 1, and behind them
  std::vector<kv::BlockId> pages_ = {5, 2};
};

TEST_F(HeadsTest, OfEagleMakeTheNextStateOfTheLastOneAndTheNextToken) {
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

TEST_F(HeadsTest, OfEagle3SeeThreeStreamsAndKnowPartOfTheVocabulary) {
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

TEST_F(HeadsTest, ForMultiTokenPredictionAreNormedOnBothSides) {
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

TEST_F(HeadsTest, OfMedusaEachGuessATokenOfTheSameState) {
  const MadeFiles files = heads_.medusa();
  const std::string directory = files.write("medusa", RandomHeads::medusa_config(), "medusa_lm_head.safetensors");
  const auto drafter = make_drafter("medusa", options(directory)).or_throw();
  decode::SamplingParams params;
  params.temperature = kTemperature;
  const decode::LogitsPipeline pipeline(params, kVocabulary);
  std::size_t most = 0;
  for (const std::int64_t n : {2, 9, 34, 40}) {
    show(*drafter->tap(), 0, n - 1, 5);
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
TEST_F(HeadsTest, OfMedusaBranchWithWhatLaterHeadsSay) {
  const std::string directory = heads_.medusa().write("branching_medusa", RandomHeads::medusa_config());
  const auto drafter = make_drafter("medusa", options(directory)).or_throw();
  show(*drafter->tap(), 0, 39, 5);
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

// The names and fields that published heads have beside those above.
TEST_F(HeadsTest, ReadTheLayoutsInWhichHeadsArePublished) {
  const decode::LogitsPipeline pipeline({}, kVocabulary);
  const auto guesses = [&](const char* method, const std::string& directory) {
    const auto drafter = make_drafter(method, options(directory)).or_throw();
    show(*drafter->tap(), 0, 35, 35);
    std::vector<std::int32_t> tokens;
    for (const Token& token : draft(*drafter, 36, pipeline).drafts) tokens.push_back(token.token);
    EXPECT_FALSE(tokens.empty()) << directory;
    return tokens;
  };
  // EAGLE-3 as speculators writes it: the layer's fields nested, the layer numbered, the vocabularies' maps both there.
  MadeFiles eagle3 = heads_.eagle3();
  const auto own = guesses("eagle", eagle3.write("own_eagle3", heads_.eagle3_config()));
  eagle3.integers("t2d", std::vector<std::int64_t>(kVocabulary, 1));
  EXPECT_EQ(guesses("eagle", eagle3.write("t2d_eagle3", heads_.eagle3_config())), own);
  eagle3.rename("midlayer.", "layers.0.");
  auto layer = nlohmann::json::parse(made_config("", kHidden, 1));
  layer.erase("architectures");
  const nlohmann::json nested = {{"architectures", {"Eagle3Speculator"}},
                                 {"speculators_model_type", "eagle3"},
                                 {"draft_vocab_size", 44},
                                 {"norm_before_residual", false},
                                 {"eagle_aux_hidden_state_layer_ids", {0, 1, 2}},
                                 {"transformer_layer_config", layer}};
  EXPECT_EQ(guesses("eagle", eagle3.write("speculators_eagle3", nested.dump())), own);

  // Medusa's without the module's name, as its own code saves them, and as vLLM calls them.
  MadeFiles medusa = heads_.medusa();
  const auto said = guesses("medusa", medusa.write("own_medusa", RandomHeads::medusa_config()));
  medusa.rename("medusa_head.", "");
  EXPECT_EQ(guesses("medusa", medusa.write("bare_medusa", R"({"medusa_num_heads": 3, "medusa_num_layers": 2,
      "base_model_name_or_path": "lmsys/vicuna-7b-v1.3", "transformers_version": "4.31.0"})",
                                           "medusa_lm_head.safetensors")),
            said);
  for (const std::string head : {"0", "1", "2"}) {
    medusa.rename(head + ".2.", "lm_heads." + head + ".");
    for (const std::string block : {"0", "1"}) {
      medusa.rename(head + "." + block + ".linear.", "blocks." + head + ".layers." + block + ".");
    }
  }
  EXPECT_EQ(guesses("medusa", medusa.write("vllm_medusa", R"({"architectures": ["MedusaModel"], "model_type": "medusa",
      "num_heads": 3, "num_hidden_layers": 2, "truncated_vocab_size": null})")),
            said);
}

// Most trained heads are files of torch.
TEST_F(HeadsTest, AreReadFromFilesOfTorch) {
  const decode::LogitsPipeline pipeline({}, kVocabulary);
  const auto guesses = [&](const char* method, const std::string& directory) {
    const auto drafter = make_drafter(method, options(directory)).or_throw();
    show(*drafter->tap(), 0, 35, 35);
    std::vector<std::int32_t> tokens;
    for (const Token& token : draft(*drafter, 36, pipeline).drafts) tokens.push_back(token.token);
    EXPECT_FALSE(tokens.empty()) << directory;
    return tokens;
  };
  MadeFiles medusa = heads_.medusa();
  const auto said = guesses("medusa", medusa.write("bare_safetensors", RandomHeads::medusa_config()));
  EXPECT_EQ(said.size(), 3u);
  medusa.rename("medusa_head.", "");
  // As published: the file holds more heads than the configuration says.
  EXPECT_EQ(guesses("medusa", medusa.write("torch_medusa", R"({"base_model_name_or_path": "lmsys/vicuna-7b-v1.3",
      "medusa_num_heads": 2, "medusa_num_layers": 2, "transformers_version": "4.31.0"})",
                                           "medusa_lm_head.pt")),
            said);
  const MadeFiles eagle = heads_.eagle();
  EXPECT_EQ(
      guesses("eagle", eagle.write("torch_eagle", made_config("LlamaForCausalLM", kHidden, 1, R"(, "bias": true)"),
                                   "pytorch_model.bin")),
      guesses("eagle", eagle.write("plain_eagle", heads_.eagle_config())));
  MadeFiles eagle3 = heads_.eagle3();
  eagle3.integers("t2d", std::vector<std::int64_t>(kVocabulary, 1));
  EXPECT_EQ(guesses("eagle", eagle3.write("torch_eagle3", heads_.eagle3_config(), "pytorch_model.bin")),
            guesses("eagle", eagle3.write("plain_eagle3", heads_.eagle3_config())));
}

// What is said before there are pages is what is taken for them.
TEST_F(HeadsTest, TakeForPagesWhatTheySaid) {
  const kv::KvStore store = kv::KvStore::create(*backend_, std::ssize(target_->spec().layers),
                                                target_->kv_geometry({.dtype = DType::kF32}), kPages)
                                .or_throw();
  for (const auto& [method, directory] :
       {std::pair("eagle", heads_.eagle().write("pages_eagle", heads_.eagle_config())),
        {"eagle", heads_.eagle3().write("pages_eagle3", heads_.eagle3_config())},
        {"medusa", heads_.medusa().write("pages_medusa", RandomHeads::medusa_config())},
        {"mtp", std::string()},
        {"draft-model", std::string()},
        {"early-exit", std::string()},
        {"ngram", std::string()}}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      DrafterOptions how = options(directory);
      how.model = {target_.get(), [](model::Transformer*) {}};
      how.place.store = &store;  // early-exit keeps a reference
      how.place.form.dtype = dtype;
      how.place.pages = 0;
      const std::size_t of_a_page = page_bytes(method, how).or_throw();
      how.place.pages = kPages;
      const DraftMemory memory = make_drafter(method, how).or_throw()->memory();
      EXPECT_EQ(memory.pages, of_a_page * kPages) << method;
      const bool computes_beside = std::string_view(method) != "early-exit" && std::string_view(method) != "ngram";
      EXPECT_EQ(of_a_page > 0, computes_beside) << method;
      EXPECT_EQ(memory.weights > 0, computes_beside) << method;
      EXPECT_EQ(memory.workspace > 0, computes_beside) << method;
      const DrafterKind& kind = *find_drafter(method);
      ASSERT_EQ(kind.weight_bytes != nullptr, kind.needs == Needs::kHeads) << method;
      if (kind.weight_bytes == nullptr) continue;
      EXPECT_EQ(kind.weight_bytes(how).or_throw(), memory.weights) << method;
      how.heads += "_gone";
      EXPECT_EQ(kind.weight_bytes(how).error().code, ErrorCode::kNotFound);
    }
  }
  EXPECT_EQ(page_bytes("oracle", {}).error().param, "spec-method");
}

// Pages whose states are not the target's have no guess, until the target computes them again.
TEST_F(HeadsTest, SayNothingOfPagesWrittenFromOutside) {
  const std::string eagle = heads_.eagle().write("outside_eagle", heads_.eagle_config());
  const std::string medusa = heads_.medusa().write("outside_medusa", RandomHeads::medusa_config());
  const decode::LogitsPipeline pipeline({}, kVocabulary);
  for (const auto& [method, directory] : {std::pair("eagle", eagle), {"medusa", medusa}, {"mtp", std::string()}}) {
    const auto drafter = make_drafter(method, options(directory)).or_throw();
    EXPECT_TRUE(draft(*drafter, 36, pipeline).drafts.empty());
    show(*drafter->tap(), 0, 35, 7);
    EXPECT_FALSE(draft(*drafter, 36, pipeline).drafts.empty());
    for (const kv::BlockId page : pages_) drafter->follower()->rewritten(page);
    EXPECT_TRUE(draft(*drafter, 36, pipeline).drafts.empty());
    show(*drafter->tap(), 0, 35, 35);
    const Task before = draft(*drafter, 36, pipeline);
    EXPECT_FALSE(before.drafts.empty());
    // A copy has what the page had.
    drafter->follower()->copied(pages_[1], 7);
    pages_[1] = 7;
    const Task after = draft(*drafter, 36, pipeline);
    pages_[1] = 2;
    ASSERT_EQ(after.drafts.size(), before.drafts.size());
    EXPECT_EQ(after.drafts[0].token, before.drafts[0].token);
    EXPECT_EQ(after.drafts[0].confidence, before.drafts[0].confidence);
  }
}

TEST_F(HeadsTest, NameTheTensorOrFieldThatIsWrong) {
  const auto error = [&](const char* method, const MadeFiles& files, const std::string& config) {
    const std::string directory = files.write("wrong", config);
    const auto made = make_drafter(method, options(directory));
    std::string message = made ? "" : made.error().message;
    for (std::size_t at; (at = message.find(directory)) != std::string::npos;)
      message.replace(at, directory.size(), "D");
    return message;
  };
  MadeFiles medusa = heads_.medusa();
  EXPECT_EQ(error("medusa", medusa, R"({"medusa_num_heads": 0})"),
            "D/config.json: medusa_num_heads is 0: expected 1 to 64");
  EXPECT_EQ(error("medusa", medusa, R"({"medusa_num_heads": 4, "medusa_num_layers": 2})"),
            "D: tensor 'medusa_head.3.0.linear.weight' is missing; expected shape [32, 32]");
  medusa.random("medusa_head.1.2.weight", Shape{63, 32});
  EXPECT_EQ(error("medusa", medusa, RandomHeads::medusa_config()),
            "D: tensor 'medusa_head.1.2.weight' has shape [63, 32]; expected [64, 32]");

  MadeFiles eagle = heads_.eagle();
  EXPECT_EQ(error("eagle", eagle, made_config("LlamaForCausalLM", 16, 1)), "D: hidden_size is 16; the model's is 32");
  EXPECT_EQ(error("eagle", eagle, made_config("LlamaForCausalLM", 32, 2)),
            "D/config.json: num_hidden_layers: 2 is not supported, only heads of one layer");
  eagle.remove("fc.weight");
  EXPECT_EQ(error("eagle", eagle, heads_.eagle_config()), "D: tensor 'fc.weight' is missing; expected shape [32, 64]");

  MadeFiles eagle3 = heads_.eagle3();
  EXPECT_EQ(error("eagle", eagle3, made_config("LlamaForCausalLMEagle3", 32, 1, R"(, "draft_vocab_size": 44)")),
            "D/config.json: EAGLE-3 takes states in front of layers 2, n/2 and n-3 of 7 or more; the model has 2");
  eagle3.integers("d2t", std::vector<std::int64_t>(44, 21));
  EXPECT_EQ(error("eagle", eagle3, heads_.eagle3_config()), "D: d2t[43] is 21: tokens are 0 to 63");
  eagle3.integers("d2t", std::vector<std::int64_t>(43, 20));
  EXPECT_EQ(error("eagle", eagle3, heads_.eagle3_config()), "D: tensor 'd2t' has shape [43]; expected [44]");

  const auto plain = checkpoint::open_checkpoint(Env::system(), kTiny).or_throw();
  DrafterOptions without = options("");
  without.place.checkpoint = plain.get();
  EXPECT_EQ(make_drafter("mtp", without).error().message,
            kTiny +
                ": no layers for multi-token prediction that are known: none of "
                "model.mtp_layers.0.input_proj.weight is there");
  EXPECT_EQ(make_drafter("eagle", options("")).error().message, "eagle needs --spec-model: a directory of its head");
}

TEST_F(HeadsTest, OfRandomWeightsFitTheModelOfTheirShape) {
  const model::SynthShape& shape = *model::find_synth_shape("tiny");
  const std::string directory = testing::TempDir() + "millrace_" + std::to_string(getpid()) + "_synth";
  WorkerTeam team(2);
  const auto write = [&](Result<model::SynthModel> plan, const std::string& name) {
    model::write_synth(std::move(plan).or_throw(), directory + name, team).or_throw();
    return directory + name;
  };
  const model::SynthOptions how{.format = quant::find_format("bf16"), .seed = 1, .tokenizer = {}};
  const auto own = checkpoint::open_checkpoint(
                       Env::system(),
                       write(model::plan_synth(shape, checkpoint::Checkpoint::Container::kSafetensors, how), "_model"))
                       .or_throw();
  model::Transformer target(*own, model::make_spec(*own).or_throw(), *backend_, {.max_length = 64});
  for (const std::string_view kind : model::synth_head_kinds()) {
    DrafterOptions made = options(write(model::plan_synth_heads(shape, kind, how), "_" + std::string(kind)));
    made.place.target = &target;
    const auto drafter = make_drafter(kind == "medusa" ? "medusa" : "eagle", made);
    EXPECT_TRUE(drafter) << drafter.error().message;
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace millrace::draft
