#include "runtime/outlier_policy.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/log.h"
#include "base/output_file.h"
#include "model/outliers.h"
#include "runtime/build_name.h"
#include "runtime/cache_directory.h"

namespace millrace::runtime {
namespace {

// What find_outlier_weights answers may change with every change of a kernel: an answer counts for the build that gave
// it. Empty for a build without a name, which remembers nothing.
std::string remembering_build() {
  const std::string commit(build_commit());
  return commit.ends_with('+') ? "" : std::string(build_version()) + " " + commit;
}

// Prose, code, figures, other scripts: what models read. The first token, which draws extreme values in many models, is
// there as well.
constexpr std::string_view kText =
    "The miller opened the sluice, and the race began to run: 240 litres a second, by his own reckoning.\n"
    "for (int i = 0; i < n; ++i) { sum += x[i] * w[i]; }  // O(n)\n"
    "{\"name\": \"wheel\", \"teeth\": [12, 36], \"ratio\": 3.0}\n"
    "Das Rad dreht sich. La roue tourne. \xd0\x9a\xd0\xbe\xd0\xbb\xd0\xb5\xd1\x81\xd0\xbe. "
    "\xe6\xb0\xb4\xe8\xbd\xa6\xe8\xbd\xac\xe5\x8a\xa8\xe3\x80\x82";
constexpr std::size_t kMaxTokens = 64;

std::vector<std::int32_t> probe_tokens(const checkpoint::Checkpoint& checkpoint,
                                       const model::Transformer& transformer) {
  std::vector<std::int32_t> tokens;
  if (checkpoint.tokenizer != nullptr) {
    tokens = checkpoint.tokenizer->encode(kText, true);
  } else {
    const auto vocabulary = static_cast<std::uint64_t>(transformer.spec().vocab_size);
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < kMaxTokens; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      tokens.push_back(static_cast<std::int32_t>((state >> 33) % vocabulary));
    }
  }
  const auto limit = std::min(kMaxTokens, static_cast<std::size_t>(transformer.max_length()));
  if (tokens.size() > limit) tokens.resize(limit);
  return tokens;
}

std::optional<std::vector<std::string>> remembered(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  const auto tree = nlohmann::json::parse(in, nullptr, false);
  if (!tree.is_object() || !tree.contains("build") || tree["build"] != remembering_build() ||
      !tree.contains("weights")) {
    return std::nullopt;
  }
  std::vector<std::string> weights;
  for (const auto& weight : tree["weights"]) {
    if (!weight.is_string()) return std::nullopt;
    weights.push_back(weight.get<std::string>());
  }
  return weights;
}

void remember(const std::string& path, const std::vector<std::string>& weights) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  const std::string text = nlohmann::json{{"build", remembering_build()}, {"weights", weights}}.dump(1) + "\n";
  auto file = OutputFile::create(path);
  if (!file || !file->write(std::as_bytes(std::span(text.data(), text.size()))) || !file->commit(false)) {
    log::info("{}: cannot be written; outliers are looked for again at the next start", path);
  }
}

bool has_int8(const model::Transformer& transformer) {
  for (backend::Linear* linear : transformer.linears()) {
    if (linear->has_int8_activations()) return true;
  }
  return false;
}

}  // namespace

void apply_outlier_policy(const checkpoint::Checkpoint& checkpoint, model::Transformer& transformer,
                          std::uint64_t model_key) {
  if (!has_int8(transformer)) return;
  const std::string path = fmt::format("{}/outliers/{:016x}.json", cache_directory(), model_key);
  auto weights = remembering_build().empty() ? std::nullopt : remembered(path);
  if (!weights) {
    weights = model::find_outlier_weights(transformer, probe_tokens(checkpoint, transformer));
    if (!remembering_build().empty()) remember(path, *weights);
  }
  transformer.set_int8x2(*weights);
  if (!weights->empty()) {
    log::info("{} weights get two int8 terms for their activations, as outliers make one too coarse", weights->size());
  }
}

}  // namespace millrace::runtime
