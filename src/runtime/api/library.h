#pragma once

namespace millrace::runtime {

// A library says only what is wrong: from the first model on, unless api::set_log() was called before. Thread-safe.
void quieten_once();

}  // namespace millrace::runtime
