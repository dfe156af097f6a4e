#pragma once

// For tests: made-up models and speculators. Some are random; others are built so that each token determines the next,
// and draft tokens are therefore accepted.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/tiny_torch_file.h"

namespace millrace::draft {

// The tensors of a model or speculator, f32 or int64, to be written to a directory.
class MadeFiles {
 public:
  using Values = std::vector<float>;

  Values& add(const std::string& name, const Shape& shape, Values values) {
    shapes_[name] = shape;
    return values_[name] = std::move(values);
  }
  Values& random(const std::string& name, const Shape& shape, float deviation = 0.3f) {
    std::normal_distribution<float> normal(0.0f, deviation);
    Values values(static_cast<std::size_t>(shape.elements()));
    for (float& v : values) v = normal(random_);
    return add(name, shape, std::move(values));
  }
  Values& constant(const std::string& name, const Shape& shape, float value) {
    return add(name, shape, Values(static_cast<std::size_t>(shape.elements()), value));
  }
  void integers(const std::string& name, std::vector<std::int64_t> values) { integers_[name] = std::move(values); }
  void remove(const std::string& name) { values_.erase(name), shapes_.erase(name); }
  // Replaces the prefix `from` of tensor names by `to`.
  void rename(const std::string& from, const std::string& to) {
    const auto values = values_;
    for (const auto& [name, of_it] : values) {
      if (!name.starts_with(from)) continue;
      add(to + name.substr(from.size()), Shape(shapes_.at(name)), of_it);
      remove(name);
    }
  }
  bool has(const std::string& name) const { return values_.contains(name); }
  const Values& values(const std::string& name) const { return values_.at(name); }
  const Shape& shape(const std::string& name) const { return shapes_.at(name); }

  // Adds all tensors of a model, converted to f32.
  void copy(const checkpoint::Checkpoint& from) {
    for (const checkpoint::RawTensor& tensor : from.tensors) {
      std::vector<std::byte> raw(tensor.bytes);
      from.read(tensor, 0, raw).or_throw();
      Values values(static_cast<std::size_t>(tensor.shape.elements()));
      tensor.format->unpack(raw.data(), values);
      add(tensor.name, tensor.shape, std::move(values));
    }
  }

  // Writes `config` as config.json and the tensors as `weights`: a file of torch unless the name ends with
  // .safetensors. Returns the directory, made_directory(name).
  std::string write(const std::string& name, const std::string& config,
                    const std::string& weights = "model.safetensors") const {
    const std::string directory = made_directory(name);
    std::ofstream(directory + "/config.json") << config;
    if (!weights.ends_with(".safetensors")) {
      std::ofstream(directory + "/" + weights, std::ios::binary) << torch_file();
      return directory;
    }
    std::string header, data;
    const auto put = [&](const std::string& tensor, const char* dtype, const Shape& shape, const void* bytes,
                         std::size_t size) {
      header += std::string(header.empty() ? "" : ",") + "\"" + tensor + "\":{\"dtype\":\"" + dtype +
                "\",\"shape\":" + shape.to_string() + ",\"data_offsets\":[" + std::to_string(data.size()) + "," +
                std::to_string(data.size() + size) + "]}";
      data.append(static_cast<const char*>(bytes), size);
    };
    for (const auto& [tensor, values] : integers_) {
      put(tensor, "I64", Shape{std::ssize(values)}, values.data(), values.size() * 8);
    }
    for (const auto& [tensor, values] : values_) {
      put(tensor, "F32", shapes_.at(tensor), values.data(), values.size() * 4);
    }
    header = "{" + header + "}";
    const auto length = static_cast<std::uint64_t>(header.size());
    std::ofstream file(directory + "/" + weights, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), 8) << header << data;
    return directory;
  }

  // Creates a directory of this process, which is deleted when the process ends.
  static std::string made_directory(const std::string& name) {
    static const struct Root {
      ~Root() { std::filesystem::remove_all(path); }
      std::string path = testing::TempDir() + "millrace_heads_" + std::to_string(getpid());
    } root;
    const std::string directory = root.path + "/" + name;
    std::filesystem::create_directories(directory);
    return directory;
  }

 private:
  std::string torch_file() const {
    checkpoint::TinyTorchFile file;
    file.tensors.clear();
    file.zip.entries.resize(2);
    const auto put = [&](const std::string& name, const char* storage, const Shape& shape, const auto& values) {
      std::vector<std::int64_t> dims, strides;
      std::int64_t step = shape.elements();
      for (int i = 0; i < shape.rank(); ++i) {
        dims.push_back(shape[i]);
        strides.push_back(step /= shape[i]);
      }
      file.add_storage(name,
                       std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]));
      file.tensors.push_back({name, dims, strides, name, storage, "cuda:0", std::ssize(values)});
    };
    for (const auto& [name, values] : integers_) put(name, "LongStorage", Shape{std::ssize(values)}, values);
    for (const auto& [name, values] : values_) put(name, "FloatStorage", shapes_.at(name), values);
    return file.bytes();
  }

  std::map<std::string, Values> values_;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, std::vector<std::int64_t>> integers_;
  std::mt19937 random_{11};
};

// config.json of a model or speculator with 4 query heads and a vocabulary of 64. `more` is further JSON members and
// begins with a comma.
inline std::string made_config(const std::string& architecture, std::int64_t hidden, std::int64_t layers,
                               const std::string& more = "", std::int64_t head_dim = 16) {
  return R"({"architectures": [")" + architecture + R"("], "vocab_size": 64, "hidden_size": )" +
         std::to_string(hidden) + R"(, "num_hidden_layers": )" + std::to_string(layers) +
         R"(, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": )" + std::to_string(head_dim) +
         R"(, "intermediate_size": 64,
"max_position_embeddings": 64, "rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": false)" +
         more + "}";
}

// Adds the weights of one layer, with names that begin with `prefix`. Attention reads `inputs` columns. Weights are
// random, or zeros without effect. Values of attention have head_dim numbers unless value_dim > 0.
inline void add_layer(MadeFiles& files, const std::string& prefix, std::int64_t hidden, std::int64_t inputs,
                      bool random, bool input_norm = true, std::int64_t head_dim = 16, std::int64_t value_dim = 0) {
  if (value_dim == 0) value_dim = head_dim;
  const auto weight = [&](const std::string& name, const Shape& shape) {
    random ? files.random(prefix + name, shape) : files.constant(prefix + name, shape, 0.0f);
  };
  const auto norm = [&](const std::string& name) {
    files.constant(prefix + name, Shape{hidden}, 1.0f);
    if (!random) return;
    for (float& v : files.random(prefix + name, Shape{hidden}, 0.1f)) v += 1.0f;
  };
  weight("self_attn.q_proj.weight", Shape{4 * head_dim, inputs});
  weight("self_attn.k_proj.weight", Shape{2 * head_dim, inputs});
  weight("self_attn.v_proj.weight", Shape{2 * value_dim, inputs});
  weight("self_attn.o_proj.weight", Shape{hidden, 4 * value_dim});
  weight("mlp.gate_proj.weight", Shape{64, hidden});
  weight("mlp.up_proj.weight", Shape{64, hidden});
  weight("mlp.down_proj.weight", Shape{hidden, 64});
  norm("post_attention_layernorm.weight");
  if (input_norm) norm("input_layernorm.weight");
}

// Speculators with random weights for a model of this hidden size with a vocabulary of 64.
struct RandomHeads {
  std::int64_t hidden;
  std::int64_t head_dim = 16;
  std::int64_t value_dim = 0;  // size of attention values in the model and its MTP layer; 0 = head_dim

  MadeFiles medusa() const {
    MadeFiles files;
    for (const std::string head : {"0", "1", "2"}) {
      for (const std::string block : {"0", "1"}) {
        files.random("medusa_head." + head + "." + block + ".linear.weight", Shape{hidden, hidden});
        files.random("medusa_head." + head + "." + block + ".linear.bias", Shape{hidden});
      }
      files.random("medusa_head." + head + ".2.weight", Shape{64, hidden});
    }
    return files;
  }
  static std::string medusa_config() { return R"({"medusa_num_heads": 3, "medusa_num_layers": 2})"; }

  MadeFiles eagle() const {
    MadeFiles files;
    files.random("fc.weight", Shape{hidden, 2 * hidden});
    files.random("fc.bias", Shape{hidden});
    files.random("embed_tokens.weight", Shape{64, hidden}, 1.0f);
    add_layer(files, "layers.0.", hidden, hidden, true, false, head_dim);
    return files;
  }
  std::string eagle_config() const { return made_config("LlamaForCausalLMEagle", hidden, 1, "", head_dim); }

  // Reads the hidden states of three layers. Its draft vocabulary is the tokens from 20 on.
  MadeFiles eagle3() const {
    MadeFiles files;
    files.random("fc.weight", Shape{hidden, 3 * hidden});
    add_layer(files, "midlayer.", hidden, 2 * hidden, true, true, head_dim);
    for (float& v : files.random("midlayer.hidden_norm.weight", Shape{hidden}, 0.1f)) v += 1.0f;
    for (float& v : files.random("norm.weight", Shape{hidden}, 0.1f)) v += 1.0f;
    files.random("lm_head.weight", Shape{44, hidden});
    files.integers("d2t", std::vector<std::int64_t>(44, 20));
    return files;
  }
  std::string eagle3_config() const {
    return made_config("LlamaForCausalLMEagle3", hidden, 1,
                       R"(, "draft_vocab_size": 44, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 1, 2]})",
                       head_dim);
  }

  // Adds the MTP layer to the weights of a model.
  void add_mtp(MadeFiles& files) const {
    const std::string prefix = "model.mtp_layers.0.";
    add_layer(files, prefix, hidden, hidden, true, true, head_dim, value_dim);
    files.random(prefix + "self_attn.q_proj.bias", Shape{4 * head_dim});
    files.random(prefix + "self_attn.k_proj.bias", Shape{2 * head_dim});
    files.random(prefix + "self_attn.v_proj.bias", Shape{2 * (value_dim > 0 ? value_dim : head_dim)});
    for (const char* norm : {"token_layernorm", "hidden_layernorm", "final_layernorm"}) {
      for (float& v : files.random(prefix + norm + ".weight", Shape{hidden}, 0.1f)) v += 1.0f;
    }
    files.random(prefix + "input_proj.weight", Shape{hidden, 2 * hidden});
  }
};

// A model with a vocabulary of 64 in which token t is always followed by next(t), at temperatures up to 1.5. The hidden
// state of token t is 8 times the unit vector t. Its speculators draft from hidden states alone: a draft token is
// accepted if they were given the right state, and is wrong if they were given another.
struct Round {
  static constexpr std::int64_t kSize = 64;
  static std::int32_t next(std::int32_t token) { return token < 3 ? token : 3 + (token - 3 + 7) % 61; }

  // Adds `value` to m[to(t)][column + t] for each token t; m has `columns` columns.
  template <typename To>
  static void map(MadeFiles::Values& m, std::int64_t columns, std::int64_t column, float value, const To& to) {
    for (std::int32_t t = 0; t < kSize; ++t) m[static_cast<std::size_t>(to(t) * columns + column + t)] += value;
  }
  static std::int32_t same(std::int32_t token) { return token; }

  // Adds a layer whose MLP turns the hidden state of t into that of next(t): silu(32) * 8 = 256.
  static void add_step(MadeFiles& files, const std::string& prefix, std::int64_t inputs, bool input_norm) {
    add_layer(files, prefix, kSize, inputs, false, input_norm);
    map(files.constant(prefix + "mlp.gate_proj.weight", Shape{kSize, kSize}, 0.0f), kSize, 0, 4.0f, same);
    map(files.constant(prefix + "mlp.up_proj.weight", Shape{kSize, kSize}, 0.0f), kSize, 0, 1.0f, same);
    MadeFiles::Values& down = files.constant(prefix + "mlp.down_proj.weight", Shape{kSize, kSize}, 0.0f);
    map(down, kSize, 0, 8.0f / 256.0f, next);
    map(down, kSize, 0, -8.0f / 256.0f, same);
  }

  // Writes the model with an MTP layer; returns its directory, as the functions below do for the speculators.
  static std::string target() {
    MadeFiles files;
    map(files.constant("model.embed_tokens.weight", Shape{kSize, kSize}, 0.0f), kSize, 0, 8.0f, same);
    for (const char* layer : {"0", "1"}) {
      add_layer(files, std::string("model.layers.") + layer + ".", kSize, kSize, false);
    }
    files.constant("model.norm.weight", Shape{kSize}, 1.0f);
    map(files.constant("lm_head.weight", Shape{kSize, kSize}, 0.0f), kSize, 0, 5.0f, next);
    const std::string mtp = "model.mtp_layers.0.";
    add_step(files, mtp, kSize, true);
    for (const char* norm : {"token_layernorm", "hidden_layernorm", "final_layernorm"}) {
      files.constant(mtp + norm + ".weight", Shape{kSize}, 1.0f);
    }
    map(files.constant(mtp + "input_proj.weight", Shape{kSize, 2 * kSize}, 0.0f), 2 * kSize, 0, 1.0f, same);
    return files.write("round", made_config("MiMoForCausalLM", kSize, 2));
  }

  static std::string medusa() {
    MadeFiles files;
    for (std::int32_t head = 0; head < 4; ++head) {
      const std::string number = std::to_string(head);
      files.constant("blocks." + number + ".layers.0.weight", Shape{kSize, kSize}, 0.0f);
      map(files.constant("lm_heads." + number + ".weight", Shape{kSize, kSize}, 0.0f), kSize, 0, 5.0f,
          [&](std::int32_t token) {
            for (std::int32_t i = 0; i < head + 2; ++i) token = next(token);
            return token;
          });
    }
    return files.write("round_medusa", R"({"num_heads": 4, "num_hidden_layers": 1})");
  }

  static std::string eagle() {
    MadeFiles files;
    map(files.constant("fc.weight", Shape{kSize, 2 * kSize}, 0.0f), 2 * kSize, kSize, 1.0f, same);
    add_step(files, "layers.0.", kSize, false);
    return files.write("round_eagle", made_config("LlamaForCausalLM", kSize, 1));
  }

  // Uses only the middle one of its three hidden states. Its draft vocabulary is the tokens from 3 on, in descending
  // order.
  static std::string eagle3() {
    MadeFiles files;
    map(files.constant("fc.weight", Shape{kSize, 3 * kSize}, 0.0f), 3 * kSize, kSize, 1.0f, same);
    add_step(files, "midlayer.", 2 * kSize, true);
    files.constant("midlayer.hidden_norm.weight", Shape{kSize}, 1.0f);
    files.constant("norm.weight", Shape{kSize}, 1.0f);
    MadeFiles::Values& head = files.constant("lm_head.weight", Shape{61, kSize}, 0.0f);
    std::vector<std::int64_t> offsets(61);
    for (std::int32_t t = 3; t < kSize; ++t) head[static_cast<std::size_t>((63 - next(t)) * kSize + t)] = 5.0f;
    for (std::int64_t row = 0; row < 61; ++row) offsets[static_cast<std::size_t>(row)] = 63 - 2 * row;
    files.integers("d2t", offsets);
    return files.write("round_eagle3",
                       made_config("LlamaForCausalLMEagle3", kSize, 1,
                                   R"(, "draft_vocab_size": 61, "eagle_aux_hidden_state_layer_ids": [0, 1, 2])"));
  }
};

}  // namespace millrace::draft
