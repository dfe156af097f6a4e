#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/weight_files.h"
#include "hub/repository_file.h"

namespace millrace::hub {

// Which files of a repository make up one model.
struct ModelChoice {
  using Format = checkpoint::Checkpoint::Container;
  Format format = Format::kGguf;
  std::string quantization;           // of a GGUF, by its name; may be empty
  std::string entry;                  // the .gguf (of several shards the first); empty = the folder is the model
  std::vector<std::string> metadata;  // configuration, tokenizer, licence: small, fetched before the weights
  std::vector<std::string> weights;   // shards in order
};

// The text of a file of the repository: a download, or a read in the cache.
using ReadFile = std::function<Result<std::string>(const RepositoryFile&)>;

// The model that `selector` (a quantization or a file's name, empty = the best there is) names among `files`. `where`
// names the repository in messages; `read` is asked for the index of shards alone.
// Quantized GGUF comes before safetensors, those before GGUF in full precision, and files of torch (.bin, .pt), of
// which the reader runs nothing, are chosen where there is nothing else; "safetensors" and "torch" as a selector ask
// for them. Other files that can hold code (.h5, .py ...) are never chosen: kUnsupported where there is nothing else.
// kNotFound lists what there is.
Result<ModelChoice> choose_model(const std::string& where, std::span<const RepositoryFile> files,
                                 const std::string& selector, const ReadFile& read);

// The models in `files`, by GGUF stem; for listings. Auxiliary files are left out.
struct GgufModel {
  std::string quantization;
  std::vector<std::string> shards;  // in order
  std::uint64_t bytes = 0;
  bool complete = true;  // all shards are there
};
std::vector<GgufModel> gguf_models(std::span<const RepositoryFile> files);

const RepositoryFile* find_file(std::span<const RepositoryFile> files, std::string_view name);

// The first of checkpoint::weight_containers() that `files` hold one of, of this name if one is given; null: none.
const checkpoint::WeightContainer* find_container(std::span<const RepositoryFile> files, std::string_view name = {});

// PEFT's file beside the weights of a LoRA, and what a repository or directory of nothing else is refused with.
inline constexpr std::string_view kAdapterConfig = "adapter_config.json";
Error adapter_alone(const std::string& where);

// Limit of the index of shards, bytes.
inline constexpr std::uint64_t kMaxIndexBytes = 64 << 20;

}  // namespace millrace::hub
