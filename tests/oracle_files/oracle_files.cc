// The C++ side of the comparison with the Python packages: packs and unpacks blocks, writes and describes model files.
//   oracle_files unpack FORMAT   blocks on stdin -> float32 on stdout
//   oracle_files pack FORMAT     float32 on stdin -> blocks on stdout
//   oracle_files copy IN OUT     reads a .gguf or .safetensors file, writes the same metadata and tensors with our
//   writer
//   oracle_files describe FILE   name, format, shape and the sum of the data's bytes of each tensor, one JSON a line;
//   also of a .bin or .pt file of torch, with its tensors of integers

#include <cstring>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/error.h"
#include "checkpoint/gguf_reader.h"
#include "checkpoint/gguf_writer.h"
#include "checkpoint/safetensors_reader.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/torch_reader.h"
#include "model/config/read_config.h"

namespace {

using namespace millrace;
using namespace millrace::checkpoint;

std::string read_stdin() { return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()}; }

void print_bytes(std::span<const std::byte> bytes) {
  std::cout.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void unpack(const quant::QuantFormat& format) {
  const std::string in = read_stdin();
  std::vector<float> out(in.size() / static_cast<std::size_t>(format.block_bytes) *
                         static_cast<std::size_t>(format.block_values));
  format.unpack(reinterpret_cast<const std::byte*>(in.data()), out);
  print_bytes(std::as_bytes(std::span(out)));
}

void pack(const quant::QuantFormat& format) {
  const std::string in = read_stdin();
  std::vector<float> values(in.size() / sizeof(float));
  std::memcpy(values.data(), in.data(), values.size() * sizeof(float));
  std::vector<std::byte> out(format.row_bytes(static_cast<std::int64_t>(values.size())));
  format.pack(values, out.data());
  print_bytes(out);
}

bool is_gguf(const std::string& path) { return path.ends_with(".gguf"); }

bool is_torch(const std::string& path) { return path.ends_with(".bin") || path.ends_with(".pt"); }

std::vector<RawTensor> tensors_of(const RandomAccessFile& file) {
  if (is_torch(file.path())) {
    std::vector<IntegerTensor> integers;
    std::vector<RawTensor> tensors = read_torch_file(file, &integers);
    for (IntegerTensor& one : integers) tensors.push_back(std::move(one.tensor));
    return tensors;
  }
  return is_gguf(file.path()) ? read_gguf_header(file).tensors : read_safetensors_header(file);
}

void describe(const std::string& path) {
  const auto file = Env::system().open(path).or_throw();
  for (const RawTensor& tensor : tensors_of(*file)) {
    std::vector<std::byte> data(tensor.bytes);
    file->read(tensor.offset, data).or_throw();
    std::uint64_t sum = 0;
    for (const std::byte b : data) sum += std::to_integer<std::uint64_t>(b);
    std::vector<std::int64_t> shape;
    for (int i = 0; i < tensor.shape.rank(); ++i) shape.push_back(tensor.shape[i]);
    const std::string_view format = tensor.format != nullptr ? tensor.format->name : "integer";
    std::cout << nlohmann::json{{"name", tensor.name}, {"format", format}, {"shape", shape}, {"sum", sum}} << '\n';
  }
}

void copy(const std::string& from, const std::string& to) {
  const auto file = Env::system().open(from).or_throw();
  const std::vector<RawTensor> tensors = tensors_of(*file);
  std::vector<TensorSpec> specs;
  for (const RawTensor& tensor : tensors) specs.push_back({tensor.name, tensor.format, tensor.shape});
  const auto source = [&](std::size_t i, const DataSink& sink) -> Result<void> {
    std::vector<std::byte> data(tensors[i].bytes);
    if (auto read = file->read(tensors[i].offset, data); !read) return read;
    return sink(data);
  };
  if (is_gguf(from)) {
    const GgufHeader header = read_gguf_header(*file);
    write_gguf(to, header.metadata.entries(), specs, source).or_throw();
  } else {
    write_safetensors(to, {}, specs, source).or_throw();
  }
}

std::string_view kind_name(millrace::model::RopeScaling::Kind kind) {
  switch (kind) {
    case millrace::model::RopeScaling::Kind::kNone: return "default";
    case millrace::model::RopeScaling::Kind::kLinear: return "linear";
    case millrace::model::RopeScaling::Kind::kDynamic: return "dynamic";
    case millrace::model::RopeScaling::Kind::kYarn: return "yarn";
    case millrace::model::RopeScaling::Kind::kLlama3: return "llama3";
    case millrace::model::RopeScaling::Kind::kLongRope: return "longrope";
  }
  return "";
}

void print_config(const std::string& path) {
  const millrace::model::ModelConfig c =
      millrace::model::parse_hf_config(path, read_file(Env::system(), path, 1 << 20).or_throw());
  std::cout << nlohmann::json{{"architecture", c.architecture},
                              {"vocab_size", c.vocab_size},
                              {"hidden_size", c.hidden_size},
                              {"intermediate_size", c.intermediate_size},
                              {"num_hidden_layers", c.n_layers},
                              {"num_attention_heads", c.n_heads},
                              {"num_key_value_heads", c.n_kv_heads},
                              {"head_dim", c.head_dim},
                              {"max_position_embeddings", c.context_length},
                              {"eps", c.norm_eps},
                              {"activation", c.activation},
                              {"rope_theta", c.rope.theta},
                              {"rope_type", kind_name(c.rope.scaling.kind)},
                              {"rope_factor", c.rope.scaling.factor},
                              {"sliding_window", c.sliding_window},
                              {"layer_uses_window", c.layer_uses_window},
                              {"tie_word_embeddings", c.tie_word_embeddings}};
}

int usage() {
  std::cerr << "usage: oracle_files unpack FORMAT | pack FORMAT | copy IN OUT | config FILE | describe FILE\n";
  return 2;
}

int run(const std::vector<std::string>& args) {
  if (args.size() == 2 && args[0] == "describe") {
    describe(args[1]);
  } else if (args.size() == 2 && args[0] == "config") {
    print_config(args[1]);
  } else if (args.size() == 3 && args[0] == "copy") {
    copy(args[1], args[2]);
  } else {
    const quant::QuantFormat* format = args.size() == 2 ? quant::find_format(args[1]) : nullptr;
    if (format == nullptr || (format->pack == nullptr && args[0] == "pack") ||
        (args[0] != "pack" && args[0] != "unpack"))
      return usage();
    args[0] == "pack" ? pack(*format) : unpack(*format);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const LoadError& e) {
    std::cerr << e.what() << '\n';
    return exit_code(e.error().code);
  }
}
