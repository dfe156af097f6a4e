#include "fact_lines.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "printable.h"

namespace millrace::app {

std::string shown(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "-";
  return printable(value.is_string() ? value.get<std::string>() : value.dump());
}

void print_fact(const char* label, const std::string& text) { std::printf("%-14s %s\n", label, text.c_str()); }

}  // namespace millrace::app
