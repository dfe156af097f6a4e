#include "model/adapters/gguf_adapter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "checkpoint/gguf_reader.h"
#include "checkpoint/json_fields.h"
#include "checkpoint/quote_name.h"
#include "model/adapters/adapter_names.h"
#include "model/adapters/file_in_memory.h"

namespace millrace::model {
namespace {

using checkpoint::GgufMetadata;
using checkpoint::quote_name;
using checkpoint::RawTensor;

constexpr std::string_view kGgufA = ".weight.lora_a", kGgufB = ".weight.lora_b", kEmbedding = "token_embd";
constexpr const char *kGgufAlpha = "adapter.lora.alpha", *kInvocation = "adapter.alora.invocation_tokens";
// Of an adapter; these have no effect on what it computes.
constexpr std::string_view kOfPeople[] = {"adapter.lora.task_name", "adapter.lora.prompt_prefix"};

void require(const GgufMetadata& metadata, const std::string& key, std::string_view expected) {
  const std::string found = metadata.required_text(key);
  if (found == expected) return;
  throw_load_error(ErrorCode::kUnsupported, key, "{}: {} is {}, must be '{}'", metadata.file(), key, quote_name(found),
                   expected);
}

void check_metadata(const GgufMetadata& metadata) {
  require(metadata, "general.type", "adapter");
  require(metadata, "adapter.type", "lora");
  for (const auto& [key, value] : metadata.entries()) {
    const bool known = key == "adapter.type" || key == kGgufAlpha || key == kInvocation ||
                       std::ranges::find(kOfPeople, key) != std::end(kOfPeople);
    if (known || !(key.starts_with("adapter.") || key.starts_with("split."))) continue;
    throw_load_error(ErrorCode::kUnsupported, key, "{}: key {} is not known, and may change what the adapter does",
                     metadata.file(), quote_name(key));
  }
}

// The values of a tensor [outer, rows, cols] in the order [rows, cols, outer].
std::vector<float> with_outer_last(const std::vector<float>& values, std::size_t outer) {
  std::vector<float> other(values.size());
  const std::size_t inner = values.size() / outer;
  for (std::size_t i = 0; i < values.size(); ++i) other[i % inner * outer + i / inner] = values[i];
  return other;
}

// The tensor's values as f32 in a file of its own: what follows takes rows apart, which blocks of quantized values do
// not allow. Values [outer, rest] come as [rest, outer] if `outer` is not 1.
void keep_as_f32(checkpoint::Checkpoint& tensors, RawTensor& tensor, std::int64_t outer, const Shape& shape) {
  std::vector<std::byte> stored(tensor.bytes);
  tensors.read(tensor, 0, stored).or_throw();
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  tensor.format->unpack(stored.data(), values);
  if (outer > 1) values = with_outer_last(values, static_cast<std::size_t>(outer));
  const auto bytes = std::as_bytes(std::span(values));
  tensor.shape = shape;
  tensor.format = quant::find_format("f32");
  tensor.file = static_cast<int>(tensors.files.size());
  tensor.offset = 0;
  tensor.bytes = bytes.size();
  tensors.files.push_back(std::make_unique<FileInMemory>(
      tensors.path, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
}

// Gives a tensor PEFT's name, and the form in which PEFT has it: of experts, A is [experts * rank, inputs] and B
// [outputs, rank * experts].
void take_tensor(checkpoint::Checkpoint& tensors, RawTensor& tensor) {
  const bool a = tensor.name.ends_with(kGgufA);
  const Shape shape = tensor.shape;
  const bool experts = shape.rank() == 3;
  if ((!a && !tensor.name.ends_with(kGgufB)) || (shape.rank() != 2 && !experts)) {
    throw_load_error(ErrorCode::kUnsupported, tensor.name,
                     "{}: tensor {} is {}: matrices MODULE{} and MODULE{} expected", tensors.path,
                     quote_name(tensor.name), shape.to_string(), kGgufA, kGgufB);
  }
  tensor.name.erase(tensor.name.size() - kGgufA.size());
  const bool embedding = tensor.name == kEmbedding && !experts;
  tensor.name +=
      std::string(embedding ? ".lora_embedding_" : ".lora_") + (a ? "A" : "B") + (embedding ? "" : ".weight");
  if (experts) {
    const Shape flat = a ? Shape{shape[0] * shape[1], shape[2]} : Shape{shape[1], shape[2] * shape[0]};
    keep_as_f32(tensors, tensor, a ? 1 : shape[0], flat);
  } else if (embedding && a) {  // llama.cpp gathers its rows
    keep_as_f32(tensors, tensor, shape[0], Shape{shape[1], shape[0]});
  } else if (tensor.format->block_values != 1) {
    keep_as_f32(tensors, tensor, 1, shape);
  }
}

// The factor of B A is alpha / rank; without alpha it is 1.
std::map<std::string, PeftConfig::Module> modules_of(const checkpoint::Checkpoint& tensors, double alpha,
                                                     const std::map<std::string, std::int64_t>& experts) {
  std::map<std::string, PeftConfig::Module> modules;
  for (const RawTensor& tensor : tensors.tensors) {
    const std::size_t at = std::min(tensor.name.find(kMatrixA), tensor.name.find(kEmbeddingA));
    if (at == std::string::npos) continue;
    const auto several = experts.find(tensor.name.substr(0, at));
    const std::int64_t rank =
        tensor.shape[0] / (several == experts.end() ? 1 : std::max<std::int64_t>(1, several->second));
    modules[tensor.name.substr(0, at)] = {rank, alpha == 0.0 ? 1.0 : alpha / static_cast<double>(rank)};
  }
  return modules;
}

std::vector<std::int32_t> invocation_of(const GgufMetadata& metadata) {
  std::vector<std::int32_t> tokens;
  if (metadata.find(kInvocation) == nullptr) return tokens;
  for (const std::int64_t token : metadata.integers(kInvocation)) {
    if (token < 0 || token > std::numeric_limits<std::int32_t>::max()) {
      throw_load_error(ErrorCode::kBadFile, kInvocation, "{}: {} has the token {}: must be 0 to 2^31 - 1",
                       metadata.file(), kInvocation, token);
    }
    tokens.push_back(static_cast<std::int32_t>(token));
  }
  return tokens;
}

}  // namespace

AdapterFiles read_gguf_adapter(Env& env, const std::string& path) {
  auto bytes = checkpoint::read_optional_file(env, path, kMaxAdapterBytes);
  if (!bytes) throw_load_error(ErrorCode::kNotFound, path, "{}: No such file or directory", path);
  AdapterFiles files{.path = path};
  checkpoint::Checkpoint& tensors = files.tensors;
  tensors.path = tensors.config.file = path;
  tensors.files.push_back(std::make_unique<FileInMemory>(path, *std::move(bytes)));
  checkpoint::GgufHeader header = checkpoint::read_gguf_header(*tensors.files.front());
  check_metadata(header.metadata);
  files.gguf_architecture = header.metadata.required_text("general.architecture");
  const double alpha = header.metadata.number(kGgufAlpha).value_or(0.0);
  if (!std::isfinite(alpha)) {
    throw_load_error(ErrorCode::kBadFile, kGgufAlpha, "{}: {} is {}, must be finite", path, kGgufAlpha, alpha);
  }
  tensors.tensors = std::move(header.tensors);
  std::map<std::string, std::int64_t> experts;  // of modules that have several
  for (RawTensor& tensor : tensors.tensors) {
    if (tensor.shape.rank() == 3 && tensor.name.ends_with(kGgufA)) {
      experts[tensor.name.substr(0, tensor.name.size() - kGgufA.size())] = tensor.shape[0];
    }
    take_tensor(tensors, tensor);
  }
  checkpoint::index_names(tensors);
  files.config = PeftConfig(path, modules_of(tensors, alpha, experts), invocation_of(header.metadata));
  return files;
}

}  // namespace millrace::model
