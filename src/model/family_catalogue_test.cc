// What the catalogue says of the families: each has the golden files that it claims, and the table in docs/families.md
// is what it says. MILLRACE_WRITE_DOCS=1 writes the table anew.

#include "model/family_catalogue.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "checkpoint/checkpoint.h"
#include "model/make_spec.h"
#include "model/synth/synth_shape.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(MILLRACE_TEST_DATA) / "../golden";
const fs::path kDocs = fs::path(MILLRACE_TEST_DATA) / "../../docs/families.md";
constexpr std::string_view kBegin = "<!-- families: written by model_test -->\n", kEnd = "<!-- end of families -->\n";

std::set<std::pair<std::string_view, bool>> golden_families() {
  std::set<std::pair<std::string_view, bool>> found;  // name, and whether in GGUF
  for (const char* kind : {"tiny", "families"}) {
    for (const auto& folder : fs::directory_iterator(kGolden / kind)) {
      for (const fs::path& model : {folder.path(), folder.path() / "model.gguf"}) {
        const bool gguf = model != folder.path();
        if (!fs::exists(gguf ? model : model / "config.json")) continue;
        const auto checkpoint = checkpoint::open_checkpoint(Env::system(), model).or_throw();
        const ModelFamily* family = find_family(checkpoint->config);
        if (family != nullptr) found.insert({family->name, gguf});
      }
    }
  }
  return found;
}

TEST(FamilyCatalogue, EveryFamilyIsHeldToGoldenFilesOfItsContainers) {
  const auto golden = golden_families();
  for (const CatalogueEntry& entry : family_catalogue()) {
    const ModelFamily& family = *entry.family;
    EXPECT_TRUE(family.hf.empty() || golden.contains({family.name, false})) << family.name << ": no safetensors";
    EXPECT_TRUE(family.gguf.empty() || golden.contains({family.name, true})) << family.name << ": no GGUF";
    EXPECT_FALSE(entry.traits.empty()) << family.name;
  }
}

TEST(FamilyCatalogue, EverySpeedThatItSaysIsMeasuredIsInTheDocs) {
  for (const SynthShape& shape : synth_shapes()) {
    if (shape.measured.empty()) continue;
    EXPECT_TRUE(fs::exists(kDocs.parent_path() / "performance" / (std::string(shape.measured) + ".json")))
        << shape.name;
  }
}

TEST(FamilyCatalogue, NoNameBelongsToTwoFamilies) {
  for (const bool gguf : {false, true}) {
    std::set<std::string_view> names;
    for (const CatalogueEntry& entry : family_catalogue()) {
      for (const std::string_view name : gguf ? entry.family->gguf : entry.family->hf) {
        EXPECT_TRUE(names.insert(name).second) << name;
      }
    }
  }
}

std::string table() {
  std::string text =
      "| family | architectures in config.json | in GGUF | layers are made of | `synth --shape` "
      "|\n|---|---|---|---|---|\n";
  for (const CatalogueEntry& entry : family_catalogue()) {
    const auto code = [](const auto& names) {
      std::string all;
      for (const std::string_view name : names) all += fmt::format("{}`{}`", all.empty() ? "" : " ", name);
      return all;
    };
    std::string shapes = code(entry.shapes);
    if (!entry.measured.empty()) shapes += fmt::format("; measured: {}", code(entry.measured));
    text += fmt::format("| {} | {} | {} | {} | {} |\n", entry.family->name, code(entry.family->hf),
                        code(entry.family->gguf), fmt::join(entry.traits, ", "), shapes);
  }
  return text;
}

TEST(FamilyCatalogue, IsTheTableInTheDocs) {
  std::ifstream in(kDocs);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto begin = text.find(kBegin), end = text.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
  const auto from = begin + kBegin.size();
  if (std::getenv("MILLRACE_WRITE_DOCS") != nullptr) {
    std::ofstream(kDocs) << text.replace(from, end - from, table());
    return;
  }
  EXPECT_EQ(text.substr(from, end - from), table()) << "MILLRACE_WRITE_DOCS=1 model_test writes it anew";
}

TEST(NearestFamily, NamesTheFamilyTheFieldsAndTheTensors) {
  auto checkpoint = checkpoint::open_checkpoint(Env::system(), (kGolden / "families/olmo2").string()).or_throw();
  checkpoint->path = "m";
  checkpoint->config.architecture = "OlmoNextForCausalLM";
  checkpoint->config.json.update({{"new_knob", 3}, {"attention_dropout", 0.5}});
  const auto message = [&] {
    const auto spec = make_spec(*checkpoint);
    EXPECT_EQ(spec.error().code, ErrorCode::kUnsupported);
    return spec.error().message;
  };
  const std::string known = "; `millrace families` lists those that are known";
  EXPECT_EQ(message(),
            "m: unknown architecture 'OlmoNextForCausalLM'; the nearest family is olmo2, which does not read "
            "'new_knob'" +
                known);
  for (const char* name : {"model.layers.0.mlp.router.weight", "model.layers.1.mlp.router.weight"}) {
    checkpoint->tensors.push_back({.name = name, .format = quant::find_format("f32"), .shape = {4, 40}});
  }
  EXPECT_EQ(message(),
            "m: unknown architecture 'OlmoNextForCausalLM'; the nearest family is olmo2, which does not read "
            "'new_knob' and has no place for 'model.layers.{}.mlp.router.weight'" +
                known);
}

}  // namespace
}  // namespace millrace::model
