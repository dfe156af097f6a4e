#pragma once

namespace millrace::runtime {

// Sets the log level to warnings at the first call, unless api::set_log() was called before. Loading the first model
// calls it, so that a library logs problems alone. Thread-safe.
void quieten_once();

}  // namespace millrace::runtime
