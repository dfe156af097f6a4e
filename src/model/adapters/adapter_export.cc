#include "model/adapters/adapter_export.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "model/adapters/linear_modules.h"
#include "model/adapters/truncated_svd.h"
#include "model/make_spec.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

constexpr std::int64_t kCompareValues = 1 << 18;  // at a time

// A model's linear layers and the files that they are read from.
struct Opened {
  explicit Opened(const Checkpoint& of)
      : checkpoint(of), spec(make_spec(of).or_throw()), modules(linear_modules(of, spec)), files(of, spec) {}
  const Checkpoint& checkpoint;
  ModelSpec spec;
  std::vector<LinearModule> modules;
  WeightLoader files;
};

void check_alike(const Opened& base, const Opened& tuned) {
  const auto differ = [&](const std::string& what) {
    throw_load_error(ErrorCode::kInvalidArgument, "tuned", "tuned is '{}', another model than '{}': {}",
                     tuned.checkpoint.path, base.checkpoint.path, what);
  };
  if (base.modules.size() != tuned.modules.size()) {
    differ(fmt::format("{} linear layers, {} expected", tuned.modules.size(), base.modules.size()));
  }
  for (std::size_t i = 0; i < base.modules.size(); ++i) {
    const LinearModule &a = base.modules[i], &b = tuned.modules[i];
    if (a.name == b.name && a.rows == b.rows && a.cols == b.cols) continue;
    differ(fmt::format("'{}' is [{}, {}], '{}' [{}, {}] expected", b.name, b.rows, b.cols, a.name, a.rows, a.cols));
  }
}

void check_kinds(const Opened& base, const std::vector<std::string>& wanted) {
  std::set<std::string> known;
  for (const LinearModule& module : base.modules) known.insert(module.kind());
  for (const std::string& kind : wanted) {
    if (known.contains(kind)) continue;
    throw_load_error(ErrorCode::kInvalidArgument, "modules", "modules has '{}': '{}' has {}", kind,
                     base.checkpoint.path, fmt::join(known, ", "));
  }
}

// Whether the values are the same, whatever stores them.
bool equal(const Checkpoint& a, const RawTensor& in_a, const Checkpoint& b, const RawTensor& in_b) {
  if (in_a.shape != in_b.shape) return false;
  const std::int64_t rows = in_a.shape.rows(), cols = in_a.shape.back();
  const std::int64_t step = std::max<std::int64_t>(1, kCompareValues / std::max<std::int64_t>(1, cols));
  const auto values = [&](const Checkpoint& checkpoint, const RawTensor& tensor, std::int64_t first, std::int64_t n) {
    const std::size_t row_bytes = tensor.format->row_bytes(cols);
    std::vector<std::byte> stored(static_cast<std::size_t>(n) * row_bytes);
    checkpoint.read(tensor, static_cast<std::uint64_t>(first) * row_bytes, stored).or_throw();
    std::vector<float> out(static_cast<std::size_t>(n * cols));
    tensor.format->unpack(stored.data(), out);
    return out;
  };
  for (std::int64_t row = 0; row < rows; row += step) {
    const std::int64_t n = std::min(step, rows - row);
    if (values(a, in_a, row, n) != values(b, in_b, row, n)) return false;
  }
  return true;
}

// Tensors of both that differ and are none of the exported modules'.
std::vector<std::string> differing_tensors(const Opened& base, const Opened& tuned,
                                           const std::set<std::string>& kinds) {
  std::set<std::string> exported;
  for (const LinearModule& module : base.modules) {
    if (!kinds.contains(module.kind())) continue;
    for (const LinearModule::Part& part : module.parts) exported.insert(base.spec.names.in_file(part.base_tensor));
  }
  std::vector<std::string> names;
  for (const RawTensor& tensor : base.checkpoint.tensors) {
    const RawTensor* other = tuned.checkpoint.find(tensor.name);
    if (other == nullptr || exported.contains(tensor.name)) continue;
    if (!equal(base.checkpoint, tensor, tuned.checkpoint, *other)) names.push_back(tensor.name);
  }
  return names;
}

// The adapter of one module; without a difference it is zeros.
PeftModule module_of(const LinearModule& module, Opened& base, Opened& tuned, std::int64_t most, WorkerTeam& team,
                     ExportedKind& kind) {
  std::vector<float> difference = module_weights(module, tuned.files);
  {
    const std::vector<float> before = module_weights(module, base.files);
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= before[i];
  }
  if (!std::ranges::all_of(difference, [](float value) { return std::isfinite(value); })) {
    throw_load_error(ErrorCode::kBadFile, module.name, "'{}': a weight is no finite number", module.name);
  }
  ++kind.modules;
  for (const float value : difference) kind.squares += static_cast<double>(value) * value;
  const std::int64_t rank = std::min({most, module.rows, module.cols});
  MatrixFactors factors = truncated_svd(difference, module.rows, module.cols, rank, team);
  kind.residual += squared_residual(difference, module.rows, module.cols, factors, team);
  return {.name = module.name,
          .rows = module.rows,
          .cols = module.cols,
          .rank = rank,
          .a = std::move(factors.right),
          .b = std::move(factors.left)};
}

}  // namespace

double ExportedKind::error() const { return squares > 0.0 ? std::sqrt(residual / squares) : 0.0; }

ExportedAdapter export_adapter(const Checkpoint& base_checkpoint, const Checkpoint& tuned_checkpoint,
                               const ExportOptions& options, WorkerTeam& team,
                               const std::function<void(std::int64_t, std::int64_t)>& progress) {
  Opened base(base_checkpoint), tuned(tuned_checkpoint);
  check_alike(base, tuned);
  check_kinds(base, options.kinds);
  ExportedAdapter exported{.rank = options.rank};
  std::vector<PeftModule> modules;
  std::int64_t done = 0;
  for (std::size_t i = 0; i < base.modules.size(); ++i) {
    LinearModule& module = base.modules[i];
    if (progress) progress(done++, std::ssize(base.modules));
    const std::string kind = module.kind();
    if (!options.kinds.empty() && std::ranges::find(options.kinds, kind) == options.kinds.end()) continue;
    modules.push_back(module_of(module, base, tuned, options.rank, team, exported.kinds[kind]));
  }
  std::erase_if(exported.kinds, [](const auto& kind) { return kind.second.squares == 0.0; });
  std::erase_if(modules, [&](const PeftModule& one) {
    return !exported.kinds.contains(one.name.substr(one.name.rfind('.') + 1));
  });
  if (modules.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "tuned", "tuned is '{}': its linear layers are those of '{}'",
                     tuned_checkpoint.path, base_checkpoint.path);
  }
  std::set<std::string> kinds;
  for (const auto& [name, kind] : exported.kinds) kinds.insert(name);
  exported.left_out = differing_tensors(base, tuned, kinds);
  exported.modules = std::ssize(modules);
  exported.files = peft_files({.base = base_checkpoint.path,
                               .rank = options.rank,
                               .inputs_first = make_module_spec(base_checkpoint).transposed_linears},
                              modules);
  return exported;
}

}  // namespace millrace::model
