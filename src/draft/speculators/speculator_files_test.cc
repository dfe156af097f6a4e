// Files of heads: the layouts in which they are published, what they take in memory, and what is said of wrong ones.

#include <nlohmann/json.hpp>

#include "draft/speculators/testing/speculators_fixture.h"
#include "model/make_spec.h"
#include "model/synth/synth_plan.h"
#include "model/synth/synth_speculators.h"

namespace millrace::draft {
namespace {

class SpeculatorFilesTest : public MadeHeadsTest {
 protected:
  // Of the tokens behind 36, by heads in that directory.
  std::vector<std::int32_t> draft_tokens(const char* method, const std::string& directory) {
    const decode::LogitsPipeline pipeline({}, kVocabulary);
    const auto drafter = make_drafter(method, options(directory)).or_throw();
    show(*drafter->hook(), 0, 35, 35);
    std::vector<std::int32_t> tokens;
    for (const Token& token : draft(*drafter, 36, pipeline).drafts) tokens.push_back(token.token);
    EXPECT_FALSE(tokens.empty()) << directory;
    return tokens;
  }
};

// The names and fields that published heads have beside those above.
TEST_F(SpeculatorFilesTest, ReadTheLayoutsInWhichHeadsArePublished) {
  // EAGLE-3 as speculators writes it: the layer's fields nested, the layer numbered, the vocabularies' maps both there.
  MadeFiles eagle3 = heads_.eagle3();
  const auto own = draft_tokens("eagle", eagle3.write("own_eagle3", heads_.eagle3_config()));
  eagle3.integers("t2d", std::vector<std::int64_t>(kVocabulary, 1));
  EXPECT_EQ(draft_tokens("eagle", eagle3.write("t2d_eagle3", heads_.eagle3_config())), own);
  eagle3.rename("midlayer.", "layers.0.");
  auto layer = nlohmann::json::parse(made_config("", kHidden, 1));
  layer.erase("architectures");
  const nlohmann::json nested = {{"architectures", {"Eagle3Speculator"}},
                                 {"speculators_model_type", "eagle3"},
                                 {"draft_vocab_size", 44},
                                 {"norm_before_residual", false},
                                 {"eagle_aux_hidden_state_layer_ids", {0, 1, 2}},
                                 {"transformer_layer_config", layer}};
  EXPECT_EQ(draft_tokens("eagle", eagle3.write("speculators_eagle3", nested.dump())), own);

  // Medusa's without the module's name, as its own code saves them, and as vLLM calls them.
  MadeFiles medusa = heads_.medusa();
  const auto said = draft_tokens("medusa", medusa.write("own_medusa", RandomHeads::medusa_config()));
  medusa.rename("medusa_head.", "");
  EXPECT_EQ(draft_tokens("medusa", medusa.write("bare_medusa", R"({"medusa_num_heads": 3, "medusa_num_layers": 2,
      "base_model_name_or_path": "lmsys/vicuna-7b-v1.3", "transformers_version": "4.31.0"})",
                                                "medusa_lm_head.safetensors")),
            said);
  for (const std::string head : {"0", "1", "2"}) {
    medusa.rename(head + ".2.", "lm_heads." + head + ".");
    for (const std::string block : {"0", "1"}) {
      medusa.rename(head + "." + block + ".linear.", "blocks." + head + ".layers." + block + ".");
    }
  }
  EXPECT_EQ(
      draft_tokens("medusa", medusa.write("vllm_medusa", R"({"architectures": ["MedusaModel"], "model_type": "medusa",
      "num_heads": 3, "num_hidden_layers": 2, "truncated_vocab_size": null})")),
      said);
}

// Most trained heads are files of torch.
TEST_F(SpeculatorFilesTest, AreReadFromFilesOfTorch) {
  MadeFiles medusa = heads_.medusa();
  const auto said = draft_tokens("medusa", medusa.write("bare_safetensors", RandomHeads::medusa_config()));
  EXPECT_EQ(said.size(), 3u);
  medusa.rename("medusa_head.", "");
  // As published: the file holds more heads than the configuration says.
  EXPECT_EQ(draft_tokens("medusa", medusa.write("torch_medusa", R"({"base_model_name_or_path": "lmsys/vicuna-7b-v1.3",
      "medusa_num_heads": 2, "medusa_num_layers": 2, "transformers_version": "4.31.0"})",
                                                "medusa_lm_head.pt")),
            said);
  const MadeFiles eagle = heads_.eagle();
  EXPECT_EQ(
      draft_tokens("eagle", eagle.write("torch_eagle", made_config("LlamaForCausalLM", kHidden, 1, R"(, "bias": true)"),
                                        "pytorch_model.bin")),
      draft_tokens("eagle", eagle.write("plain_eagle", heads_.eagle_config())));
  MadeFiles eagle3 = heads_.eagle3();
  eagle3.integers("t2d", std::vector<std::int64_t>(kVocabulary, 1));
  EXPECT_EQ(draft_tokens("eagle", eagle3.write("torch_eagle3", heads_.eagle3_config(), "pytorch_model.bin")),
            draft_tokens("eagle", eagle3.write("plain_eagle3", heads_.eagle3_config())));
}

// What is said before there are pages is what is taken for them.
TEST_F(SpeculatorFilesTest, TakeForPagesWhatTheySaid) {
  const kv::KvStore store = kv::KvStore::create(*backend_, target_->kv_groups({.encoding = "f32"}), kPages).or_throw();
  for (const auto& [method, directory] :
       {std::pair("eagle", heads_.eagle().write("pages_eagle", heads_.eagle_config())),
        {"eagle", heads_.eagle3().write("pages_eagle3", heads_.eagle3_config())},
        {"medusa", heads_.medusa().write("pages_medusa", RandomHeads::medusa_config())},
        {"mtp", std::string()},
        {"draft-model", std::string()},
        {"early-exit", std::string()},
        {"ngram", std::string()}}) {
    for (const std::string_view encoding : {"f32", "bf16"}) {
      DrafterOptions how = options(directory);
      how.model = {target_.get(), [](model::Transformer*) {}};
      how.place.store = &store;  // early-exit keeps a reference
      how.place.form.encoding = encoding;
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

TEST_F(SpeculatorFilesTest, NameTheTensorOrFieldThatIsWrong) {
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

TEST_F(SpeculatorFilesTest, OfRandomWeightsFitTheModelOfTheirShape) {
  const model::SynthShape& shape = *model::find_synth_shape("tiny");
  const std::string directory = MadeFiles::made_directory("synth");
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
    DrafterOptions made = options(write(model::plan_synth_speculators(shape, kind, how), "_" + std::string(kind)));
    made.place.target = &target;
    const auto drafter = make_drafter(kind == "medusa" ? "medusa" : "eagle", made);
    EXPECT_TRUE(drafter) << drafter.error().message;
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace millrace::draft
