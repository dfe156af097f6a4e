#pragma once

namespace millrace::runtime {

// Sets the log level of the process to warnings, unless it or api::set_log() was called before. Thread-safe.
void quieten_once();

}  // namespace millrace::runtime
