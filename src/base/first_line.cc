#include "base/first_line.h"

#include <fstream>

namespace millrace {

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace millrace
