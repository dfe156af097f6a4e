#include "checkpoint/safetensors_writer.h"

#include <nlohmann/json.hpp>

#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {

Result<std::string> safetensors_header_bytes(std::span<const SafetensorsMetadata> metadata,
                                             std::span<const TensorSpec> tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  std::uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    if (auto good = check_writable(tensor); !good) return good.error();
    if (tensor.format->safetensors_dtype.empty() || tensor.name == "__metadata__" || header.contains(tensor.name)) {
      return make_error(ErrorCode::kInvalidArgument, tensor.name,
                        "tensor {}: safetensors holds no {}, or not under this name again", quote_name(tensor.name),
                        tensor.format->name);
    }
    std::vector<std::int64_t> shape;
    for (int i = 0; i < tensor.shape.rank(); ++i) shape.push_back(tensor.shape[i]);
    const std::uint64_t end = offset + tensor.bytes();
    header[tensor.name] = {
        {"dtype", tensor.format->safetensors_dtype}, {"shape", shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string json = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + json;
}

Result<void> write_safetensors(const std::string& path, std::span<const SafetensorsMetadata> metadata,
                               std::span<const TensorSpec> tensors, const DataSource& data) {
  auto header = safetensors_header_bytes(metadata, tensors);
  if (!header) return header.error();
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  if (auto written = file->write(std::as_bytes(std::span(*header))); !written) return written;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (auto written = write_tensor_data(*file, data, i, tensors[i].name, tensors[i].bytes()); !written) return written;
  }
  return file->commit();
}

}  // namespace millrace::checkpoint
