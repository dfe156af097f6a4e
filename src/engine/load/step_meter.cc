#include "engine/load/step_meter.h"

#include <algorithm>

#include "model/model_work.h"

namespace millrace::engine::load {

StepMeter::StepMeter(const model::ModelSpec& spec, double weight_bytes, double kv_bytes_per_token)
    : weight_bytes_(weight_bytes), kv_bytes_per_token_(kv_bytes_per_token) {
  const model::ModelWork work(spec);
  token_operations_ = work.layer_operations();
  sample_operations_ = work.head_operations();
  for (const model::ModelWork::Reads& layer : work.reads()) {
    auto span = std::ranges::find(spans_, layer.window, &Span::window);
    if (span == spans_.end()) span = spans_.insert(spans_.end(), Span{.window = layer.window});
    span->share += layer.weight / work.total_weight();
    span->operations += layer.operations_per_key;
  }
}

engine::StepWorkload StepMeter::operator()(const engine::StepReport& report) const {
  const auto tokens = static_cast<double>(report.prefill_tokens + report.decode_tokens);
  engine::StepWorkload work{
      .read_bytes = weight_bytes_ + report.experts.bytes,
      .write_bytes = tokens * kv_bytes_per_token_,
      .operations = tokens * token_operations_ + static_cast<double>(report.samples) * sample_operations_};
  for (const Span& span : spans_) {
    double read = static_cast<double>(report.kv_tokens_read), attended = static_cast<double>(report.kv_tokens_attended);
    if (span.window > 0) {
      read = attended = 0.0;
      for (const engine::RowReport& row : report.rows) {
        const std::int64_t last = row.first + row.tokens;
        read += static_cast<double>(std::min(last, span.window + row.tokens - 1));
        // Positions p in [first, last) see min(p + 1, window) keys.
        const std::int64_t full = std::clamp(span.window, row.first, last);
        attended += static_cast<double>(full * (full + 1) - row.first * (row.first + 1)) / 2.0 +
                    static_cast<double>((last - full) * span.window);
      }
    }
    work.read_bytes += read * span.share * kv_bytes_per_token_;
    work.operations += attended * span.operations;
  }
  return work;
}

}  // namespace millrace::engine::load
