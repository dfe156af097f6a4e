#include "checkpoint/write_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/output_directory.h"
#include "checkpoint/gguf_reader.h"
#include "checkpoint/gguf_writer.h"
#include "checkpoint/safetensors_writer.h"

namespace millrace::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPieceBytes = 8 << 20;
constexpr std::uint64_t kMaxCopiedConfig = 16 << 20;

std::vector<TensorSpec> specs_of(const Checkpoint& checkpoint) {
  std::vector<TensorSpec> specs;
  for (const RawTensor& tensor : checkpoint.tensors) specs.push_back({tensor.name, tensor.format, tensor.shape});
  return specs;
}

// Reads [offset, offset + out.size()) of the tensor, whole rows, on all of the team.
Result<void> read_rows(const Checkpoint& checkpoint, const RawTensor& tensor, std::uint64_t offset,
                       std::size_t row_bytes, std::span<std::byte> out, WorkerTeam& team) {
  std::mutex mutex;
  std::optional<Error> failure;
  team.split(static_cast<std::int64_t>(out.size() / row_bytes), 1, [&](std::int64_t begin, std::int64_t end) {
    const std::size_t first = static_cast<std::size_t>(begin) * row_bytes;
    const std::size_t bytes = static_cast<std::size_t>(end - begin) * row_bytes;
    if (auto read = checkpoint.read(tensor, offset + first, out.subspan(first, bytes)); !read) {
      const std::lock_guard lock(mutex);
      failure = read.error();
    }
  });
  if (failure) return *failure;
  return {};
}

DataSource data_of(const Checkpoint& checkpoint, WorkerTeam& team, const std::function<void(std::uint64_t)>& progress) {
  return [&checkpoint, &team, &progress, done = std::uint64_t{0}](std::size_t i,
                                                                  const DataSink& sink) mutable -> Result<void> {
    const RawTensor& tensor = checkpoint.tensors[i];
    const std::size_t row_bytes = tensor.format->row_bytes(tensor.shape.back());
    const std::uint64_t piece = std::max<std::uint64_t>(1, kPieceBytes / row_bytes) * row_bytes;
    std::vector<std::byte> rows;
    for (std::uint64_t at = 0; at < tensor.bytes; at += rows.size()) {
      rows.resize(std::min(piece, tensor.bytes - at));
      if (auto read = read_rows(checkpoint, tensor, at, row_bytes, rows, team); !read) return read;
      if (auto written = sink(rows); !written) return written;
      if (progress) progress(done += rows.size());
    }
    return {};
  };
}

// The first file's, which GgufMetadata of Checkpoint has without the tokenizer.
std::vector<GgufEntry> metadata_of(const Checkpoint& checkpoint, const CopyChanges& changes) {
  std::vector<GgufEntry> entries;
  const GgufHeader header = read_gguf_header(*checkpoint.files.front());
  for (const GgufEntry& entry : header.metadata.entries()) {
    if (!entry.first.starts_with("split.")) entries.push_back(entry);
  }
  for (const GgufEntry& change : changes.metadata) {
    const auto same = std::ranges::find(entries, change.first, &GgufEntry::first);
    if (same == entries.end()) {
      entries.push_back(change);
    } else {
      *same = change;
    }
  }
  return entries;
}

Result<std::string> changed_config(const std::string& directory, const nlohmann::json& changes) {
  const auto text = read_file(Env::system(), directory + "/config.json", kMaxCopiedConfig);
  if (!text) return text.error();
  if (changes.empty()) return *text;
  auto config = nlohmann::ordered_json::parse(*text, nullptr, false);
  if (!config.is_object()) {
    return make_error(ErrorCode::kBadFile, "config.json", "{}/config.json: plain JSON expected", directory);
  }
  for (const auto& [field, value] : changes.items()) {
    const bool in_text = config.contains("text_config") && config["text_config"].contains(field);
    if (value.is_null()) {
      config.erase(field);
      if (in_text) config["text_config"].erase(field);
      continue;
    }
    config[field] = value;
    if (in_text) config["text_config"][field] = value;
  }
  return config.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Whether a file of a model's directory has no weights.
bool is_beside_weights(const std::string& name) {
  constexpr std::string_view kWeights[] = {".safetensors", ".bin",     ".pt",   ".pth", ".gguf",
                                           ".h5",          ".msgpack", ".onnx", ".npz", ".index.json"};
  return std::ranges::none_of(kWeights, [&](std::string_view ending) { return name.ends_with(ending); });
}

Result<void> copy_other_files(const std::string& from, const OutputDirectory& to, const CopyChanges& changes) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(from, error)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file(error) || name == "config.json" || !is_beside_weights(name)) continue;
    if (changes.left_out.contains(name) || changes.files.contains(name)) continue;
    if (!fs::copy_file(entry.path(), to.file(name), error)) break;
  }
  for (const auto& [name, path] : changes.files) {
    if (error || !fs::copy_file(path, to.file(name), error)) break;
  }
  if (error) return make_error(ErrorCode::kInvalidArgument, "out", "{}: copying its files: {}", from, error.message());
  return {};
}

Result<void> write_directory(const Checkpoint& checkpoint, const std::string& path, const CopyChanges& changes,
                             const DataSource& data) {
  if (!checkpoint.integers.empty()) {
    const std::string& name = checkpoint.integers.front().tensor.name;
    return make_error(ErrorCode::kUnsupported, name, "{}: tensor '{}' has integers, which are not written",
                      checkpoint.path, name);
  }
  auto out = OutputDirectory::create(path);
  if (!out) return out.error();
  const SafetensorsMetadata format{"format", "pt"};
  if (auto written = write_safetensors(out->file("model.safetensors"), {&format, 1}, specs_of(checkpoint), data);
      !written) {
    return written;
  }
  const auto config = changed_config(checkpoint.path, changes.config);
  if (!config) return config.error();
  if (auto written = out->write("config.json", *config); !written) return written;
  if (auto copied = copy_other_files(checkpoint.path, *out, changes); !copied) return copied;
  return out->commit();
}

}  // namespace

Result<void> write_checkpoint(const Checkpoint& checkpoint, const std::string& path, const CopyChanges& changes,
                              WorkerTeam& team, const std::function<void(std::uint64_t)>& progress) try {
  const DataSource data = data_of(checkpoint, team, progress);
  if (checkpoint.container != Checkpoint::Container::kGguf) return write_directory(checkpoint, path, changes, data);
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::not_found) {
    return make_error(ErrorCode::kInvalidArgument, "out", "out is '{}': there is something of that name", path);
  }
  return write_gguf(path, metadata_of(checkpoint, changes), specs_of(checkpoint), data);
} catch (const LoadError& failure) {
  return failure.error();
}

}  // namespace millrace::checkpoint
