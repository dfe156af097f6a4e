#include "tensor/shape.h"

namespace millrace {

std::string Shape::to_string() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims_[i]);
  }
  return text + "]";
}

}  // namespace millrace
