#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/weight_files.h"
#include "hub/repository_file.h"

namespace millrace::hub {

// The files of a repository that make up one model.
struct ModelChoice {
  using Format = checkpoint::Checkpoint::Container;
  Format format = Format::kGguf;
  std::string quantization;           // only of GGUF, from the file's name; may be empty
  std::string entry;                  // the .gguf file, of several shards the first; empty = the folder is the model
  std::vector<std::string> metadata;  // configuration, tokenizer, licence: small files, fetched before the weights
  std::vector<std::string> weights;   // in order of shards
};

// Reads the text of a file of the repository, by a download or from the cache.
using ReadFile = std::function<Result<std::string>(const RepositoryFile&)>;

// Chooses the model among `files` that `selector` names: a quantization, a file's name, or empty for the best one.
// `where` names the repository in messages; `read` is only called for the index of shards. The preference is quantized
// GGUF, safetensors, GGUF in full precision, and last torch's files (.bin, .pt), whose code is never executed; the
// selectors "safetensors" and "torch" request these, and kAdapterSelector the files of a PEFT adapter. Other files that
// can contain code (.h5, .py ...) are never chosen: kUnsupported if there is nothing else. kNotFound lists what there
// is.
Result<ModelChoice> choose_model(const std::string& where, std::span<const RepositoryFile> files,
                                 const std::string& selector, const ReadFile& read);

// A GGUF model among the files, for listings. gguf_models() leaves out auxiliary files.
struct GgufModel {
  std::string quantization;
  std::vector<std::string> shards;  // in order
  std::uint64_t bytes = 0;
  bool complete = true;  // all shards are there
};
std::vector<GgufModel> gguf_models(std::span<const RepositoryFile> files);

const RepositoryFile* find_file(std::span<const RepositoryFile> files, std::string_view name);

// The first of checkpoint::weight_containers() that has a file in `files`, or the one called `name` if it has; null:
// none.
const checkpoint::WeightContainer* find_container(std::span<const RepositoryFile> files, std::string_view name = {});

// PEFT's file besides the weights of a LoRA adapter, and the error for a repository or directory that has only an
// adapter.
inline constexpr std::string_view kAdapterConfig = "adapter_config.json", kAdapterSelector = "adapter";
Error adapter_alone(const std::string& where);

// Limit of the index of shards in bytes.
inline constexpr std::uint64_t kMaxIndexBytes = 64 << 20;

}  // namespace millrace::hub
