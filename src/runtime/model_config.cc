#include "runtime/model_config.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "model/load_quantization.h"
#include "runtime/field_checks.h"

namespace millrace::runtime {

const std::vector<std::string>& kv_cache_dtypes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all, aliases;
    for (const std::string& device : backend::device_names()) {
      for (const backend::KvEncodingKind& kind : backend::find_device(device)->kv_encodings()) {
        if (std::ranges::find(all, kind.name) == all.end()) all.emplace_back(kind.name);
        for (const std::string_view alias : kind.aliases) {
          if (std::ranges::find(aliases, alias) == aliases.end()) aliases.emplace_back(alias);
        }
      }
    }
    all.insert(all.end(), aliases.begin(), aliases.end());
    return all;
  }();
  return names;
}

const std::vector<std::string>& kv_layouts() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const std::string& device : backend::device_names()) {
      for (const std::string_view layout : backend::find_device(device)->kv_layouts()) {
        if (std::ranges::find(all, layout) == all.end()) all.emplace_back(layout);
      }
    }
    return all;
  }();
  return names;
}

const std::vector<std::string>& matmul_precisions() {
  static const std::vector<std::string> names = {"auto", "int8x2", "bf16", "f32"};
  return names;
}

const std::vector<std::string>& iq_panel_names() {
  static const std::vector<std::string> names = {"auto", "compact", "fast"};
  return names;
}

const std::vector<std::string>& quantization_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"auto"};
    for (const std::string_view name : model::load_quantizations()) all.emplace_back(name);
    return all;
  }();
  return names;
}

namespace {

// "3" or "0-1", [first, last].
std::optional<std::pair<std::int64_t, std::int64_t>> parse_layers(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0) return std::nullopt;
    return value;
  };
  const std::size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(*first, *last);
}

// "0-1:bf16,5:int8"
Result<std::shared_ptr<const std::vector<backend::KvException>>> parse_exceptions(const std::string& text,
                                                                                  const backend::DeviceKind& device) {
  auto all = std::make_shared<std::vector<backend::KvException>>();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view entry = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const std::size_t colon = entry.find(':');
    const auto layers = parse_layers(entry.substr(0, colon));
    if (colon == std::string_view::npos || !layers) {
      return make_error(ErrorCode::kInvalidArgument, "kv-exceptions",
                        "kv-exceptions has '{}': expected LAYER:NAME or FIRST-LAST:NAME, as in 0-1:bf16,5:int8", entry);
    }
    const std::string_view name = entry.substr(colon + 1);
    const auto pages = device.kv_format(name, device.kv_layouts().front(), 0);
    if (!pages) {
      return make_error(ErrorCode::kInvalidArgument, "kv-exceptions", "kv-exceptions has '{}': {}", entry,
                        pages.error().message);
    }
    all->push_back({.first = layers->first, .last = layers->second, .encoding = pages->encoding});
  }
  if (all->empty()) return std::shared_ptr<const std::vector<backend::KvException>>();
  return std::shared_ptr<const std::vector<backend::KvException>>(std::move(all));
}

Result<backend::KvFormat> pages_of(const ModelConfig& config) {
  const auto device = backend::choose_device(config.device);
  if (!device) return device.error();
  auto pages = (*device)->kv_format(config.kv_cache_dtype, config.kv_layout, config.block_size);
  if (!pages) return pages;
  auto exceptions = parse_exceptions(config.kv_exceptions, **device);
  if (!exceptions) return exceptions.error();
  pages->exceptions = *std::move(exceptions);
  return pages;
}

}  // namespace

Result<void> ModelConfig::validate() const {
  if (auto device_known = backend::choose_device(device); !device_known) return device_known.error();
  if (threads < 0 || threads > kMaxThreads) {
    return make_error(ErrorCode::kInvalidArgument, "threads", "threads is {}, must be 0 (all) to {}", threads,
                      kMaxThreads);
  }
  if (auto usable = choose_isa(cpu_isa); !usable) return usable.error();
  if (auto fine = first_failure({one_of("kv-cache-dtype", kv_cache_dtype, kv_cache_dtypes()),
                                 one_of("kv-layout", kv_layout, kv_layouts()),
                                 between<std::int64_t>("block-size", block_size, 0, backend::kMaxBlockTokens),
                                 one_of("matmul-precision", matmul_precision, matmul_precisions()),
                                 model::is_quantization(quantization) || quantization == "auto"
                                     ? Result<void>()
                                     : one_of("quantization", quantization, quantization_names()),
                                 one_of("iq-panels", iq_panels, iq_panel_names()),
                                 between<std::int64_t>("max-model-len", max_model_len, 0, kMaxModelLength)});
      !fine) {
    return fine;
  }
  if (!imatrix.empty() && quantization.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "imatrix",
                      "imatrix is '{}', but quantization is not given: an importance matrix weighs the errors of "
                      "rounding to it",
                      imatrix);
  }
  if (auto fine = ranks.validate(); !fine) return fine;
  const auto pages = pages_of(*this);
  return pages ? Result<void>() : pages.error();
}

backend::KvFormat ModelConfig::kv_pages() const { return pages_of(*this).or_throw(); }

std::unique_ptr<backend::Backend> ModelConfig::make_backend(int n, const backend::PackedCacheConfig& cache,
                                                            std::shared_ptr<comm::Communicator> group) const {
  const auto panels = iq_panels == "compact" ? backend::IqPanels::kCompact : backend::IqPanels::kFast;
  const backend::BackendConfig config{
      .threads = n, .isa = cpu_isa, .packed_cache = cache, .iq_panels = panels, .communicator = std::move(group)};
  return backend::choose_device(device).or_throw()->make(config).or_throw();
}

backend::MatmulPrecision ModelConfig::precision() const {
  return matmul_precision == "int8x2" ? backend::MatmulPrecision::kInt8x2
         : matmul_precision == "f32"  ? backend::MatmulPrecision::kF32
         : matmul_precision == "bf16" ? backend::MatmulPrecision::kBf16
                                      : backend::MatmulPrecision::kAuto;
}

Isa ModelConfig::isa() const { return choose_isa(cpu_isa).or_throw(); }

}  // namespace millrace::runtime
