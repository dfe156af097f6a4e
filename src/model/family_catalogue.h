#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model_family.h"

namespace millrace::model {

// What can be said of a family without a checkpoint.
struct CatalogueEntry {
  const ModelFamily* family = nullptr;
  std::vector<std::string> traits;         // what its layers are made of, in words: "RMSNorm", "window", "gated SiLU"
  std::vector<std::string_view> shapes;    // shapes of `millrace synth` that are of this family
  std::vector<std::string_view> measured;  // those whose speed beside other engines is in docs/performance.md
};

// All families, by name. Tests hold each to golden files of every container that it lists names for.
std::vector<CatalogueEntry> family_catalogue();

// What a spec's layers are made of, in words, each once.
std::vector<std::string> traits_of(const ModelSpec& spec);

}  // namespace millrace::model
