#include "model/feed_forward.h"

namespace millrace::model {

void run_feed_forward(backend::Backend& backend, const backend::Mlp& mlp,
                      const std::optional<backend::Norm>& hidden_norm, const FeedForwardColumns& columns,
                      RowSpace space, const backend::DeviceView& x, const backend::DeviceView& out) {
  if (!hidden_norm && !columns.hidden.are_shared()) return backend.mlp(mlp, x, out);
  if (!hidden_norm && mlp.up_adapters.empty() && mlp.down_adapters.empty()) {
    backend::Mlp shared = mlp;
    shared.hidden = columns.hidden.exchanged();
    backend.mlp(shared, x, columns.output.own(out));
    return columns.output.exchange(backend, out);
  }
  const backend::DeviceView up = space.take(mlp.up->n()), hidden = space.take(mlp.down->k());
  std::optional<backend::Norm> norm;
  if (mlp.norm.weight) norm = mlp.norm;
  backend.linear(*mlp.up, {.norm = norm, .bias = mlp.up_bias, .adapters = mlp.up_adapters}, x, up);
  backend.activate({.activation = mlp.activation, .parameters = mlp.parameters, .gated = mlp.gated}, up,
                   columns.hidden.own(hidden));
  backend.linear(*mlp.down,
                 {.norm = hidden_norm,
                  .bias = mlp.down_bias,
                  .accumulate = mlp.accumulate,
                  .adapters = mlp.down_adapters,
                  .exchanged = columns.hidden.exchanged()},
                 hidden, columns.output.own(out));
  columns.output.exchange(backend, out);
}

}  // namespace millrace::model
