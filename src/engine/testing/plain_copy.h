#pragma once

// For tests: copies that share no objects with the original, as another process would get them.

#include <memory>

#include "chat/answer_grammar.h"
#include "decode/sequence_breakers.h"
#include "engine/request.h"

namespace millrace::engine {

template <typename T>
void unshare(std::shared_ptr<const T>& value) {
  if (value != nullptr) value = std::make_shared<const T>(*value);
}

inline Request plain_copy(const Request& request) {
  Request copy = request;
  unshare(copy.grammar);
  unshare(copy.sampling.dry_sequence_breakers);
  return copy;
}

inline Output plain_copy(const Output& output) {
  Output copy = output;
  unshare(copy.spent);
  return copy;
}

}  // namespace millrace::engine
