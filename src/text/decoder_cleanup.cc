#include "text/decoder_cleanup.h"

#include <array>
#include <string_view>
#include <utility>

#include "text/replace_all.h"

namespace millrace::text {

void clean_up_spaces(std::string& text) {
  using Rule = std::pair<std::string_view, std::string_view>;
  static constexpr std::array kRules = {Rule{" .", "."},     Rule{" ?", "?"},           Rule{" !", "!"},
                                        Rule{" ,", ","},     Rule{" ' ", "'"},          Rule{" n't", "n't"},
                                        Rule{" 'm", "'m"},   Rule{" do not", " don't"}, Rule{" 's", "'s"},
                                        Rule{" 've", "'ve"}, Rule{" 're", "'re"}};
  for (const auto& [pattern, content] : kRules) replace_all(text, pattern, content);
}

}  // namespace millrace::text
