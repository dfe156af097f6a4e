// Any bytes as config.json and as generation_config.json: a configuration in range, or a one-line refusal.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "checkpoint/generation_config.h"
#include "model/config/read_config.h"

namespace {

using namespace millrace;

template <typename Parse>
void try_parse(Parse parse) {
  try {
    parse();
  } catch (const LoadError& e) {
    if (e.error().message.find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_parse([&] {
    const model::ModelConfig config = model::parse_hf_config("config.json", text);
    if (config.n_heads < 1 || config.n_kv_heads < 1) std::abort();
    if (config.layer_heads.empty() && config.layer_kv_heads.empty() && config.n_heads % config.n_kv_heads != 0)
      std::abort();
    if (config.rope.dim < 1 || config.rope.dim > config.head_dim || config.n_layers < 1) std::abort();
  });
  try_parse([&] { static_cast<void>(checkpoint::parse_generation_config("generation_config.json", text)); });
  return 0;
}
