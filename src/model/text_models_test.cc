// Checkpoints of several modalities: which family runs them, under which names, and what is left alone.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "checkpoint/testing/tiny_directory.h"
#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"
#include "model/file_names.h"
#include "model/make_spec.h"
#include "model/model_family.h"

namespace millrace::model {
namespace {

using Json = nlohmann::json;

// A checkpoint of that architecture whose text_config has `text`, and these tensors.
checkpoint::Checkpoint wrapped(const std::string& architecture, const Json& text,
                               const std::vector<std::string>& tensors, const Json& whole = Json::object()) {
  Json json = whole;
  json["architectures"] = {architecture};
  json["text_config"] = text;
  checkpoint::Checkpoint checkpoint;
  checkpoint.path = "m";
  checkpoint.container = checkpoint::Checkpoint::Container::kSafetensors;
  checkpoint.config = checkpoint::read_config_json("config.json", json.dump());
  for (const std::string& name : tensors) {
    const Shape shape{std::ssize(checkpoint.tensors) + 1, 16};
    checkpoint.tensors.push_back({.name = name, .format = quant::find_format("f32"), .shape = shape});
    checkpoint.tensor_index[name] = checkpoint.tensors.size() - 1;
  }
  return checkpoint;
}

Json tiny_text(const std::string& type) {
  Json text = Json::parse(checkpoint::kTinyConfig);
  text.erase("architectures");
  text["model_type"] = type;
  return text;
}

struct Wrapper {
  const char *architecture, *text_type, *family;
  // The embedding, the head, and tensors of other modalities.
  std::vector<std::string> tensors;
};

class TextModel : public testing::TestWithParam<Wrapper> {};

TEST_P(TextModel, IsFoundInTheWhole) {
  const Wrapper& wrapper = GetParam();
  const auto checkpoint = wrapped(wrapper.architecture, tiny_text(wrapper.text_type), wrapper.tensors);
  const auto spec = make_spec(checkpoint);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->family, wrapper.family);
  EXPECT_EQ(spec->names.in_file(spec->names.embedding) + ".weight", wrapper.tensors[0]);
  EXPECT_EQ(spec->names.in_file(spec->names.head) + ".weight", wrapper.tensors[1]);
  for (std::size_t i = 2; i < wrapper.tensors.size(); ++i) {
    EXPECT_TRUE(std::ranges::any_of(spec->names.ignored, [&](const std::string& pattern) {
      return matches_pattern(pattern, wrapper.tensors[i]);
    })) << wrapper.tensors[i];
  }
}

const std::string kNewText = "model.language_model.embed_tokens.weight";
const std::string kOldText = "language_model.model.embed_tokens.weight", kOldHead = "language_model.lm_head.weight";

INSTANTIATE_TEST_SUITE_P(
    Wrappers, TextModel,
    testing::Values(
        Wrapper{"LlavaForConditionalGeneration",
                "llama",
                "llama",
                {kOldText, kOldHead, "vision_tower.a.weight", "multi_modal_projector.linear_1.weight"}},
        Wrapper{"LlavaNextForConditionalGeneration",
                "granite",
                "granite",
                {kNewText, "lm_head.weight", "model.vision_tower.a.weight", "model.image_newline"}},
        Wrapper{"VideoLlavaForConditionalGeneration",
                "llama",
                "llama",
                {kOldText, kOldHead, "image_tower.a.weight", "video_tower.a.weight"}},
        Wrapper{"SmolVLMForConditionalGeneration",
                "llama",
                "llama",
                {"model.text_model.embed_tokens.weight", "lm_head.weight", "model.vision_model.a.weight",
                 "model.connector.modality_projection.proj.weight"}},
        Wrapper{"DeepseekVLHybridForConditionalGeneration",
                "llama",
                "llama",
                {kNewText, "lm_head.weight", "model.vision_model.a.weight", "model.aligner.proj.weight",
                 "model.high_res_vision_alpha"}},
        Wrapper{"JanusForConditionalGeneration",
                "llama",
                "llama",
                {kNewText, "lm_head.weight", "model.vqmodel.a.weight", "model.generation_head.a.weight",
                 "model.generation_embeddings.weight", "model.generation_aligner.a.weight"}},
        Wrapper{"Emu3ForConditionalGeneration",
                "emu3_text_model",
                "llama",
                {"text_model.model.embed_tokens.weight", "text_model.lm_head.weight", "vqmodel.a.weight"}},
        Wrapper{"Ovis2ForConditionalGeneration",
                "qwen2",
                "qwen2",
                {kNewText, "lm_head.weight", "model.visual_embeddings_table.weight"}},
        Wrapper{"LightOnOcrForConditionalGeneration",
                "qwen3",
                "qwen3",
                {kNewText, "lm_head.weight", "model.vision_encoder.a.weight", "model.vision_projection.norm.weight"}},
        Wrapper{"AyaVisionForConditionalGeneration", "cohere2", "cohere2", {kOldText, kOldHead}},
        Wrapper{"Exaone4_5_ForConditionalGeneration",
                "exaone4_5_text",
                "exaone4",
                {kNewText, "lm_head.weight", "model.visual.a.weight", "mtp.layers.0.mlp.up_proj.weight"}},
        Wrapper{"Glm4vForConditionalGeneration",
                "glm4v_text",
                "glm4",
                {kNewText, "lm_head.weight", "model.visual.a.weight"}},
        Wrapper{"Apertus1p5ForConditionalGeneration",
                "apertus1p5_text",
                "apertus",
                {kNewText, "lm_head.weight", "model.vision_tokenizer.a.weight", "model.audio_tokenizer.a.weight"}},
        Wrapper{"HCXVisionV2ForCausalLM",
                "hyperclovax",
                "hyperclovax",
                {"model.language_model.model.embed_tokens.weight", "model.language_model.lm_head.weight",
                 "model.vision_model.a.weight", "model.vision_projector.a.weight"}},
        Wrapper{"GraniteSpeechForConditionalGeneration",
                "granite",
                "granite",
                {kOldText, kOldHead, "encoder.layers.0.a.weight", "projector.query"}},
        Wrapper{"Blip2ForConditionalGeneration",
                "opt",
                "opt",
                {"language_model.model.decoder.embed_tokens.weight", kOldHead, "vision_model.a.weight", "query_tokens",
                 "qformer.a.weight", "language_projection.weight"}},
        Wrapper{"InstructBlipForConditionalGeneration",
                "opt",
                "opt",
                {"model.language_model.decoder.embed_tokens.weight", "lm_head.weight", "model.qformer.a.weight"}},
        Wrapper{"FuyuForCausalLM", "persimmon", "persimmon", {kOldText, kOldHead, "vision_embed_tokens.weight"}},
        Wrapper{"LlavaForConditionalGeneration", "phi3", "phi3", {kOldText, kOldHead}},
        Wrapper{"LlavaForConditionalGeneration", "gemma2", "gemma2", {kOldText, kOldHead}}),
    [](const testing::TestParamInfo<Wrapper>& tested) {
      return fmt::format("{}_{}_{}", tested.param.architecture, tested.param.text_type, tested.index);
    });

TEST(TextModelName, IsTheFamilysOrOneThatItLists) {
  for (const ModelFamily& family : all_families()) {
    const auto found = [&](std::string_view type) {
      return find_family(wrapped("ForConditionalGeneration", {{"model_type", type}}, {}).config);
    };
    EXPECT_EQ(found(family.name), &family) << family.name;
    for (const TextType& type : family.text_types) EXPECT_EQ(found(type.name), &family) << type.name;
  }
  EXPECT_EQ(find_family(wrapped("ForConditionalGeneration", {{"model_type", "bert"}}, {}).config), nullptr);
}

// LLaVA 1.5's file says no more than this; what the whole says of itself counts less than what the class has.
TEST(TextModelSizes, AreThoseOfTheClassWhereTextConfigIsSilent) {
  const Json text = {{"model_type", "llama"}, {"max_position_embeddings", 4096}, {"vocab_size", 32064}};
  const auto spec = make_spec(
      wrapped("LlavaForConditionalGeneration", text, {}, {{"hidden_size", 768}, {"tie_word_embeddings", true}}));
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->hidden_size, 4096);
  EXPECT_EQ(spec->layers.size(), 32u);
  EXPECT_EQ(spec->context_length, 4096);
  EXPECT_EQ(spec->vocab_size, 32064);
  EXPECT_TRUE(spec->tied_head);
}

TEST(TextModelRefusal, SaysWhy) {
  const auto message = [](const std::string& architecture, const Json& text) {
    const auto spec = make_spec(wrapped(architecture, text, {}));
    return spec ? "good" : spec.error().message;
  };
  EXPECT_EQ(message("PaliGemmaForConditionalGeneration", tiny_text("gemma")),
            "m: PaliGemmaForConditionalGeneration: every token of a prompt attends to all of it, which is not "
            "supported");
  Json pruned = tiny_text("apertus1p5_text");
  pruned["output_vocab_size"] = 6;
  EXPECT_EQ(message("Apertus1p5ForConditionalGeneration", pruned),
            "config.json: output_vocab_size: a head of fewer tokens than the embedding has is not supported");
  pruned["output_vocab_size"] = 8;
  EXPECT_EQ(message("Apertus1p5ForConditionalGeneration", pruned), "good");
}

// Adapters for images and sounds lie inside the layers of Phi 4 multimodal's own file.
TEST(TextModelAdapters, AreLeftAlone) {
  Json json = Json::parse(checkpoint::kTinyConfig);
  json["architectures"] = {"Phi4MMForCausalLM"};
  checkpoint::Checkpoint checkpoint;
  checkpoint.container = checkpoint::Checkpoint::Container::kSafetensors;
  checkpoint.config = checkpoint::read_config_json("config.json", json.dump());
  auto spec = make_spec(checkpoint);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->layers[0].get<AttentionParams>().names.qkv, "model.layers.{}.self_attn.qkv_proj.base_layer");
  EXPECT_EQ(spec->layers[0].get<MlpParams>().names.down, "model.layers.{}.mlp.down_proj.base_layer");
  for (const char* name : {"model.layers.0.mlp.down_proj.lora_A.vision.weight", "model.embed_tokens_extend.a.weight"}) {
    EXPECT_TRUE(std::ranges::any_of(spec->names.ignored, [&](const std::string& pattern) {
      return matches_pattern(pattern, name);
    })) << name;
  }
}

}  // namespace
}  // namespace millrace::model
