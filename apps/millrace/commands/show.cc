#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoint/gguf_model.h"
#include "checkpoint/hf_model.h"
#include "cli.h"
#include "command.h"
#include "fact_lines.h"
#include "hub/cache_index.h"
#include "hub/model_lookup.h"
#include "hub_access.h"
#include "inspect/printed_report.h"
#include "inspect/weight_report.h"
#include "model/config/read_config.h"
#include "model_flags.h"
#include "printable.h"
#include "progress.h"
#include "runtime/model_config.h"

namespace millrace::commands {
namespace {

namespace fs = std::filesystem;
using checkpoint::Checkpoint;
using Json = nlohmann::ordered_json;

// The licence in the metadata of a README: "license: mit" between two lines of "---" at its beginning.
Json read_licence(const fs::path& readme) {
  constexpr std::string_view kKey = "license:";
  constexpr std::uint64_t kMaxBytes = 1 << 20;
  const auto text = read_file(Env::system(), readme.string(), kMaxBytes);
  if (!text) return nullptr;
  std::istringstream lines(*text);
  std::string line;
  if (!std::getline(lines, line) || !line.starts_with("---")) return nullptr;
  while (std::getline(lines, line) && !line.starts_with("---")) {
    if (!line.starts_with(kKey)) continue;
    const std::size_t first = line.find_first_not_of(" \t'\"", kKey.size());
    if (first == std::string::npos) return nullptr;
    return line.substr(first, line.find_last_not_of(" \t\r'\"") - first + 1);
  }
  return nullptr;
}

// How the weights are stored; a warning where no reader takes them. Reads what their formats depend on.
Json describe_stored(const Checkpoint& checkpoint) try {
  const model::WeightSummary summary = model::summarize_weights(checkpoint, model::CheckpointWeights(checkpoint));
  return {{"parameters", summary.parameters}, {"weights", app::describe_weights(summary)}};
} catch (const LoadError& failure) {
  return {{"warning", failure.error().message}};
}

// What the headers say, without the tokenizer: quick for any size.
Json describe_headers(const std::string& path) {
  text::GgufVocabulary vocabulary;
  checkpoint::TokenizerFiles tokenizer;
  std::error_code ignored;
  const auto opened = fs::is_directory(path, ignored) ? checkpoint::read_huggingface(Env::system(), path, &tokenizer)
                                                      : checkpoint::read_gguf(Env::system(), path, &vocabulary);
  if (!opened) return {{"warning", opened.error().message}};
  const auto config = model::read_model_config(**opened);
  if (!config) return {{"warning", config.error().message}};
  std::map<std::string, std::uint64_t> formats;
  for (const checkpoint::RawTensor& tensor : (*opened)->tensors) {
    formats[std::string(tensor.format->name)] += static_cast<std::uint64_t>(tensor.shape.elements());
  }
  Json report = {{"licence_of_file", (*opened)->config.licence},
                 {"architecture", (*opened)->config.architecture},
                 {"context_length", config->context_length},
                 {"kv_cache_dtype", runtime::ModelConfig().kv_cache_dtype},
                 {"formats", formats}};
  report.update(describe_stored(**opened));
  return report;
}

// The licence of the model's card, if there is one, is that of its file otherwise.
void add_headers(Json& report, const std::string& path) {
  Json headers = describe_headers(path);
  const std::string of_file = headers.value("licence_of_file", "");
  if (report["licence"].is_null() && !of_file.empty()) report["licence"] = of_file;
  headers.erase("licence_of_file");
  report.update(headers);
}

Json describe_files(const fs::path& folder, const std::vector<hub::RepositoryFile>& files) {
  Json rows = Json::array();
  for (const hub::RepositoryFile& file : files) {
    std::error_code error;
    const fs::path real = fs::canonical(folder / file.name, error);
    rows.push_back({{"name", file.name}, {"bytes", file.size}, {"path", (error ? folder / file.name : real).string()}});
  }
  return rows;
}

Json describe_cached(const hub::RepositoryReference& reference) {
  const hub::CacheLayout cache = app::hub_cache();
  const std::string path = hub::find_cached(cache, reference).or_throw();
  const std::string commit = cache.commit_of(reference.name, reference.revision).or_throw();
  const hub::CachedSnapshot snapshot = hub::read_snapshot(cache, reference.name, commit);
  Json report = {{"name", reference.text()},
                 {"repository", reference.name},
                 {"commit", commit},
                 {"refs", snapshot.refs},
                 {"path", path},
                 {"licence", read_licence(snapshot.path / "README.md")}};
  add_headers(report, path);
  report["files"] = describe_files(snapshot.path, snapshot.files);
  return report;
}

Json describe_path(const std::string& name, const std::string& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  std::vector<hub::RepositoryFile> files;
  if (!folder) files.push_back({.name = fs::path(path).filename().string(), .size = fs::file_size(path, error)});
  for (fs::directory_iterator it(path, error), end; folder && !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) {
      files.push_back({.name = it->path().filename().string(), .size = it->file_size(ignored)});
    }
  }
  std::ranges::sort(files, {}, &hub::RepositoryFile::name);
  const fs::path parent = folder ? fs::path(path) : fs::path(path).parent_path();
  Json report = {{"name", name}, {"path", path}, {"licence", read_licence(parent / "README.md")}};
  add_headers(report, path);
  report["files"] = describe_files(parent, files);
  return report;
}

Json describe(const std::string& reference) {
  if (reference == "default") return describe_path(reference, app::model_path(reference));
  if (const auto path = hub::find_path(reference).or_throw()) return describe_path(reference, *path);
  return describe_cached(hub::parse_reference(reference).or_throw());
}

std::string joined(const Json& values) {
  std::string text;
  for (const Json& value : values) text += (text.empty() ? "" : ", ") + app::shown(value);
  return text.empty() ? "-" : text;
}

void print(const Json& report) {
  app::print_fact("name", app::shown(report["name"]));
  if (report.contains("commit")) app::print_fact("commit", app::shown(report["commit"]));
  if (report.contains("refs")) app::print_fact("refs", joined(report["refs"]));
  app::print_fact("path", app::shown(report["path"]));
  app::print_fact("licence", report["licence"].is_null() ? "not stated in the files" : app::shown(report["licence"]));
  if (report.contains("architecture")) {
    app::print_fact("architecture", app::shown(report["architecture"]));
    if (report.contains("parameters")) {
      app::print_fact("parameters", fmt::format("{:.1f} M", report["parameters"].get<double>() / 1e6));
      app::print_weights(report["weights"]);
    }
    app::print_fact("context", app::shown(report["context_length"]) + " tokens");
    app::print_fact("kv cache", app::shown(report["kv_cache_dtype"]) + ", or as --kv-cache-dtype says");
    std::string formats;
    for (const auto& [format, values] : report["formats"].items()) {
      formats += fmt::format("{}{} {:.1f} M", formats.empty() ? "" : ", ", format, values.get<double>() / 1e6);
    }
    app::print_fact("formats", formats);
  }
  if (report.contains("warning")) app::print_fact("warning", app::shown(report["warning"]));
  for (const Json& file : report["files"]) {
    std::printf("%13s %s\n", app::readable_bytes(file["bytes"].get<double>()).c_str(),
                app::shown(file["name"]).c_str());
  }
}

int show(const std::string& reference, bool json) {
  const Json report = describe(reference);
  if (json) {
    std::printf("%s\n", report.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    print(report);
  }
  return 0;
}

}  // namespace

app::Command show() {
  return {.name = "show",
          .summary = "Show a cached model's location, files, licence and formats, without using the network",
          .configure = [](CLI::App& app) -> std::function<int()> {
            struct ShowFlags {
              std::string reference = "default";
              bool json = false;
            };
            auto flags = std::make_shared<ShowFlags>();
            app.add_option("model", flags->reference,
                           "Model: org/name[:quantization][@revision], a .gguf file, a directory, or 'default'");
            app.add_flag("--json", flags->json, "Print the result as one JSON object");
            return [flags] { return show(flags->reference, flags->json); };
          },
          .example = "millrace show default"};
}

}  // namespace millrace::commands
