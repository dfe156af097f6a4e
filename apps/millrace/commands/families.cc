#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli.h"
#include "command.h"
#include "did_you_mean.h"
#include "help_page.h"
#include "model/family_catalogue.h"
#include "text_columns.h"

namespace millrace::commands {
namespace {

using Json = nlohmann::ordered_json;
using model::CatalogueEntry;

struct FamiliesFlags {
  std::string name;
  bool json = false;
};

// The model_type of text models inside checkpoints of several modalities.
std::vector<std::string_view> text_names(const CatalogueEntry& entry) {
  std::vector<std::string_view> names;
  for (const model::TextType& type : entry.family->text_types) names.push_back(type.name);
  return names;
}

std::vector<CatalogueEntry> chosen(const std::string& name) {
  std::vector<CatalogueEntry> entries = model::family_catalogue();
  if (name.empty()) return entries;
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : entries) {
    names.emplace_back(entry.family->name);
    for (const auto& list : {entry.family->hf, entry.family->gguf, text_names(entry)})
      names.insert(names.end(), list.begin(), list.end());
  }
  std::erase_if(entries, [&](const CatalogueEntry& entry) {
    const auto lists = [&](const auto& list) { return std::ranges::find(list, name) != list.end(); };
    const model::ModelFamily& family = *entry.family;
    return family.name != name && !lists(family.hf) && !lists(family.gguf) && !lists(text_names(entry));
  });
  if (entries.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "family", "'{}' is no family or architecture of a model{}", name,
                     app::did_you_mean(name, names));
  }
  return entries;
}

Json described(const CatalogueEntry& entry) {
  const model::ModelFamily& family = *entry.family;
  return {{"name", family.name},
          {"safetensors", family.hf},
          {"gguf", family.gguf},
          {"text_config", text_names(entry)},
          {"blocks", entry.traits},
          {"checked", {{"safetensors", !family.hf.empty()}, {"gguf", !family.gguf.empty()}, {"speed", entry.measured}}},
          {"shapes", entry.shapes}};
}

// What follows the blocks: "GGUF: phi2".
std::string names_of(const CatalogueEntry& entry) {
  const model::ModelFamily& family = *entry.family;
  std::string text = fmt::format("{}.", fmt::join(entry.traits, ", "));
  if (!family.hf.empty()) text += fmt::format(" Safetensors: {}.", fmt::join(family.hf, ", "));
  if (!family.gguf.empty()) text += fmt::format(" GGUF: {}.", fmt::join(family.gguf, ", "));
  if (!family.text_types.empty()) text += fmt::format(" Text of: {}.", fmt::join(text_names(entry), ", "));
  if (!entry.measured.empty()) text += fmt::format(" Speed measured: {}.", fmt::join(entry.measured, ", "));
  if (!entry.shapes.empty()) text += fmt::format(" Shapes: {}.", fmt::join(entry.shapes, ", "));
  return text;
}

int list_families(const FamiliesFlags& flags) {
  const std::vector<CatalogueEntry> entries = chosen(flags.name);
  if (flags.json) {
    Json rows = Json::array();
    for (const CatalogueEntry& entry : entries) rows.push_back(described(entry));
    fmt::print("{}\n", Json{{"families", rows}}.dump(2));
    return 0;
  }
  std::vector<app::TextRow> rows;
  for (const CatalogueEntry& entry : entries) rows.push_back({std::string(entry.family->name), names_of(entry)});
  fmt::print("{}", app::in_columns(rows, app::help_width()));
  return 0;
}

}  // namespace

app::Command families() {
  return {.name = "families",
          .summary = "List the model families that can be loaded, and what their layers are made of",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<FamiliesFlags>();
            app.add_option("family", flags->name,
                           "Name of a family, of an architecture in config.json or GGUF, or of a text_config");
            app.add_flag("--json", flags->json, "Print JSON");
            return [flags] { return list_families(*flags); };
          },
          .example = "millrace families gemma3"};
}

}  // namespace millrace::commands
