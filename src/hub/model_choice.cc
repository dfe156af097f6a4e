#include "hub/model_choice.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/lower_case.h"
#include "base/readable_bytes.h"
#include "checkpoint/json_fields.h"
#include "checkpoint/quote_name.h"
#include "hub/gguf_name.h"

namespace millrace::hub {
namespace {

using checkpoint::quote_name;
using checkpoint::WeightContainer;
using Files = std::span<const RepositoryFile>;

constexpr std::uint64_t kMaxReadmeBytes = 1 << 20;

bool is_readme(const RepositoryFile& file) { return file.name == "README.md" && file.size <= kMaxReadmeBytes; }

// What a model of Hugging Face's format needs besides its weights.
bool is_companion(const RepositoryFile& file) {
  constexpr std::string_view kNames[] = {"config.json",
                                         "generation_config.json",
                                         "quantize_config.json",
                                         "tokenizer_config.json",
                                         "tokenizer.json",
                                         "tokenizer.model",
                                         "tokenizer.jsonl",
                                         "tiktoken.model",
                                         "special_tokens_map.json",
                                         "added_tokens.json",
                                         "vocab.json",
                                         "vocab.txt",
                                         "merges.txt",
                                         "spiece.model",
                                         "preprocessor_config.json"};
  if (std::ranges::find(kNames, file.name) != std::end(kNames) || is_readme(file)) return true;
  if (file.name.starts_with("additional_chat_templates/")) return file.name.ends_with(".jinja");
  return file.name.find('/') == std::string::npos &&
         (file.name.ends_with(".tiktoken") || file.name.starts_with("chat_template"));
}

// At most a screen of them.
std::string list_of(const std::vector<GgufModel>& models) {
  constexpr std::size_t kShown = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(models.size(), kShown); ++i) {
    const GgufModel& model = models[i];
    const std::string name =
        model.quantization.empty() ? std::string(base_name(model.shards.front())) : model.quantization;
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", quote_name(name),
                        readable_bytes(static_cast<double>(model.bytes)));
  }
  return models.size() > kShown ? text + fmt::format(" and {} more", models.size() - kShown) : text;
}

std::string names_of(const std::vector<const GgufModel*>& models) {
  std::string text;
  for (const GgufModel* model : models) text += (text.empty() ? "" : ", ") + quote_name(model->shards.front());
  return text;
}

// The user's word for a file: its name with or without folder and extension, or its quantization.
std::vector<const GgufModel*> matching(const std::vector<GgufModel>& models, const std::string& selector) {
  const std::string wanted = lower_case(selector);
  const auto names_file = [&](const GgufModel& model) {
    return std::ranges::any_of(model.shards, [&](const std::string& shard) {
      const std::string stem = parse_gguf_name(shard).stem;
      return shard == selector || base_name(shard) == selector || stem == selector || base_name(stem) == selector;
    });
  };
  const auto has_quantization = [&](const GgufModel& model) { return lower_case(model.quantization) == wanted; };
  // "UD-" marks a variant of the same format; the plain name means it where there is no other.
  const auto has_variant = [&](const GgufModel& model) { return lower_case(model.quantization) == "ud-" + wanted; };
  std::vector<const GgufModel*> found;
  const auto collect = [&](const auto& matches) {
    for (const GgufModel& model : models) {
      if (found.empty() || matches(model)) {
        if (matches(model)) found.push_back(&model);
      }
    }
    return !found.empty();
  };
  if (!collect(names_file) && !collect(has_quantization)) collect(has_variant);
  return found;
}

Result<ModelChoice> choice_of(const std::string& where, Files files, const GgufModel& model) {
  if (!model.complete) {
    return make_error(ErrorCode::kNotFound, "model", "{}: {}: of its {} shards only {} are there", where,
                      quote_name(model.shards.front()), parse_gguf_name(model.shards.front()).parts,
                      model.shards.size());
  }
  ModelChoice choice;
  choice.format = ModelChoice::Format::kGguf;
  choice.quantization = model.quantization;
  choice.entry = model.shards.front();
  choice.weights = model.shards;
  for (const RepositoryFile& file : files) {
    if (is_readme(file)) choice.metadata.push_back(file.name);
  }
  return choice;
}

Result<ModelChoice> select_gguf(const std::string& where, Files files, const std::vector<GgufModel>& models,
                                const std::string& selector) {
  const auto found = matching(models, selector);
  if (found.empty()) {
    return make_error(ErrorCode::kNotFound, "model", "{}: no quantization or file {}; there is: {}", where,
                      quote_name(selector), models.empty() ? "no .gguf file" : list_of(models));
  }
  if (found.size() > 1) {
    return make_error(ErrorCode::kInvalidArgument, "model", "{}: {} is in several files: {}; name one of them", where,
                      quote_name(selector), names_of(found));
  }
  return choice_of(where, files, *found.front());
}

// Nothing for no usable model among several that no name distinguishes.
Result<ModelChoice> prefer_gguf(const std::string& where, Files files, const std::vector<GgufModel>& models) {
  const auto rank = [](const GgufModel& model) { return preference(model.quantization); };
  std::vector<const GgufModel*> best;
  for (const GgufModel& model : models) {
    if (!model.complete && models.size() > 1) continue;
    if (!best.empty() && rank(model) < rank(*best.front())) best.clear();
    if (best.empty() || rank(model) == rank(*best.front())) best.push_back(&model);
  }
  if (best.size() == 1) return choice_of(where, files, *best.front());
  return make_error(ErrorCode::kInvalidArgument, "model", "{}: several models: {}; name one after ':'", where,
                    best.empty() ? list_of(models) : names_of(best));
}

// The shards that an index names, each once.
Result<std::vector<std::string>> shards_of_index(const std::string& file, const std::string& text,
                                                 std::string_view extension) {
  try {
    const nlohmann::json json = checkpoint::parse_json_object(file, text);
    const checkpoint::JsonFields fields(file, json);
    const nlohmann::json* map = fields.find("weight_map");
    if (map == nullptr || !map->is_object()) fields.wrong_type("weight_map", "an object");
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
      const auto name = shard.is_string() ? shard.get<std::string>() : std::string();
      if (!is_safe_file_name(name) || !name.ends_with(extension)) {
        return make_error(ErrorCode::kBadFile, file, "{}: tensor {}: a {} file expected, found {}", file,
                          quote_name(tensor), extension, quote_name(name));
      }
      shards.insert(name);
    }
    return std::vector<std::string>(shards.begin(), shards.end());
  } catch (const LoadError& failure) {
    return failure.error();
  }
}

std::string own_name(const WeightContainer& container) {
  return std::string(checkpoint::kMedusaStem).append(container.own_extension);
}

// Weights beside config.json: in one file, in shards, or heads alone.
Result<ModelChoice> choose_directory(const std::string& where, Files files, const WeightContainer& container,
                                     const ReadFile& read) {
  ModelChoice choice;
  choice.format = container.container;
  for (const RepositoryFile& file : files) {
    if (is_companion(file)) choice.metadata.push_back(file.name);
  }
  if (find_file(files, container.single) != nullptr) {
    choice.weights.emplace_back(container.single);
  } else if (const RepositoryFile* index = find_file(files, container.index)) {
    if (index->size > kMaxIndexBytes) {
      return make_error(ErrorCode::kBadFile, "model", "{}: {}: {} bytes, at most {} expected", where, container.index,
                        index->size, kMaxIndexBytes);
    }
    auto text = read(*index);
    if (!text) return text.error();
    auto shards = shards_of_index(where + ": " + std::string(container.index), *text, container.extension);
    if (!shards) return shards.error();
    choice.metadata.emplace_back(container.index);
    choice.weights = *std::move(shards);
  } else {
    choice.weights.push_back(own_name(container));
  }
  for (const std::string& name : choice.weights) {
    if (find_file(files, name) == nullptr) {
      return make_error(ErrorCode::kNotFound, "model", "{}: {} is missing, which its index names", where,
                        quote_name(name));
    }
  }
  if (find_file(files, "config.json") == nullptr) {
    return make_error(ErrorCode::kUnsupported, "model", "{}: {} without config.json", where,
                      to_string(container.container));
  }
  return choice;
}

Error nothing_usable(const std::string& where, Files files) {
  constexpr std::string_view kOthers[] = {".safetensors", ".bin",  ".pt",     ".pth",    ".ckpt",
                                          ".h5",          ".onnx", ".tflite", ".msgpack"};
  std::string found;
  for (const std::string_view extension : kOthers) {
    if (std::ranges::any_of(files, [&](const RepositoryFile& file) { return file.name.ends_with(extension); })) {
      found += (found.empty() ? "" : ", ") + std::string(extension);
    }
  }
  return make_error(
      ErrorCode::kUnsupported, "model",
      "{}: no .gguf, no model.safetensors and no pytorch_model.bin{}; millrace reads GGUF, safetensors and the tensors "
      "that torch.save wrote, and runs no code of a file",
      where, found.empty() ? fmt::format(" among {} files", files.size()) : ", only " + found);
}

Result<ModelChoice> choose_adapter(const std::string& where, Files files) {
  using Format = ModelChoice::Format;
  ModelChoice choice;
  for (const auto& [name, format] : {std::pair<std::string_view, Format>{"adapter_model.bin", Format::kTorch},
                                     {"adapter_model.safetensors", Format::kSafetensors}}) {
    if (find_file(files, name) == nullptr) continue;
    choice.format = format;
    choice.weights = {std::string(name)};
  }
  if (choice.weights.empty() || find_file(files, kAdapterConfig) == nullptr) {
    return make_error(ErrorCode::kUnsupported, "lora",
                      "{}: no PEFT adapter: it has {} and adapter_model.safetensors or adapter_model.bin", where,
                      kAdapterConfig);
  }
  choice.metadata.emplace_back(kAdapterConfig);
  for (const RepositoryFile& file : files) {
    if (is_companion(file) || is_readme(file)) choice.metadata.push_back(file.name);
  }
  return choice;
}

}  // namespace

Error adapter_alone(const std::string& where) {
  return make_error(
      ErrorCode::kUnsupported, "model",
      "{}: a PEFT adapter (adapter_config.json) without its base model; name the base as the model and this as "
      "its adapter (--lora NAME=...), or merge it into the base (millrace lora merge, or PEFT's "
      "merge_and_unload(), then save_pretrained()) and name the directory of the result",
      where);
}

const RepositoryFile* find_file(Files files, std::string_view name) {
  const auto it = std::ranges::find(files, name, &RepositoryFile::name);
  return it == files.end() ? nullptr : &*it;
}

const WeightContainer* find_container(Files files, std::string_view name) {
  for (const WeightContainer& container : checkpoint::weight_containers()) {
    if (!name.empty() && name != to_string(container.container)) continue;
    for (const std::string_view file : {container.single, container.index}) {
      if (find_file(files, file) != nullptr) return &container;
    }
    if (find_file(files, own_name(container)) != nullptr) return &container;
  }
  return nullptr;
}

std::vector<GgufModel> gguf_models(Files files) {
  std::map<std::pair<std::string, int>, std::map<int, const RepositoryFile*>> groups;  // (stem, parts) -> part -> file
  for (const RepositoryFile& file : files) {
    if (!is_gguf_name(file.name) || is_auxiliary_gguf(file.name)) continue;
    const GgufName name = parse_gguf_name(file.name);
    groups[{name.stem, name.parts}].emplace(name.part, &file);
  }
  std::vector<GgufModel> models;
  for (const auto& [key, parts] : groups) {
    GgufModel model;
    model.complete = parts.size() == static_cast<std::size_t>(key.second);
    for (const auto& [part, file] : parts) {
      model.quantization = parse_gguf_name(file->name).quantization;
      model.shards.push_back(file->name);
      model.bytes += file->size;
    }
    models.push_back(std::move(model));
  }
  return models;
}

Result<ModelChoice> choose_model(const std::string& where, Files files, const std::string& selector,
                                 const ReadFile& read) {
  const std::vector<GgufModel> models = gguf_models(files);
  const std::string wanted = lower_case(selector);
  if (wanted == kAdapterSelector) return choose_adapter(where, files);
  const bool by_container = wanted == "safetensors" || wanted == "torch";
  if (!selector.empty() && !by_container) return select_gguf(where, files, models, selector);
  const WeightContainer* container = find_container(files, wanted);
  const bool quantized = std::ranges::any_of(models, [](const GgufModel& model) {
    return !model.quantization.empty() && !is_full_precision(model.quantization);
  });
  const bool before_gguf =
      by_container || models.empty() || (!quantized && container == &checkpoint::weight_containers().front());
  if (container != nullptr && before_gguf) return choose_directory(where, files, *container, read);
  if (!models.empty() && !by_container) return prefer_gguf(where, files, models);
  if (find_file(files, kAdapterConfig) != nullptr) return adapter_alone(where);
  return nothing_usable(where, files);
}

}  // namespace millrace::hub
