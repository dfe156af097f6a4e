#pragma once

#include <string>
#include <vector>

namespace millrace::app {

// What a request must keep to count as good.
struct Goodput {
  double ttft_ms = 0.0, tpot_ms = 0.0;  // 0 = any
};

// "ttft:500,tpot:50", in milliseconds; throws LoadError.
Goodput parse_goodput(const std::string& text);

// The parts between the marks; empty ones are left out.
std::vector<std::string> split(const std::string& text, char mark);

}  // namespace millrace::app
