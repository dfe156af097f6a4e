#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/weights/module_pattern.h"

#include <pcre2.h>

#include <stdexcept>

namespace millrace::model {
namespace {

constexpr std::string_view kExpressionMark = "re:";
constexpr std::uint32_t kPatternMatchLimit = 100000;  // steps: names are short

}  // namespace

struct ModulePattern::Expression {
  pcre2_code* code;
  explicit Expression(pcre2_code* compiled) : code(compiled) {}
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression() { pcre2_code_free(code); }
};

ModulePattern::ModulePattern(std::string_view entry) : text_(entry) {
  if (!entry.starts_with(kExpressionMark)) return;
  const std::string_view pattern = entry.substr(kExpressionMark.size());
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_ANCHORED, &error, &at, nullptr);
  if (code == nullptr) {
    std::string why(256, '\0');
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(why.data()), why.size());
    throw std::invalid_argument(why.substr(0, why.find('\0')) + " at " + std::to_string(at));
  }
  expression_ = std::make_shared<const Expression>(code);
}

bool ModulePattern::matches(const std::string& module) const {
  if (expression_ == nullptr) {
    return module == text_ ||
           (module.size() > text_.size() && module.starts_with(text_) && module[text_.size()] == '.');
  }
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(context, kPatternMatchLimit);
  const int found =
      pcre2_match(expression_->code, reinterpret_cast<PCRE2_SPTR>(module.data()), module.size(), 0, 0, match, context);
  pcre2_match_context_free(context);
  pcre2_match_data_free(match);
  return found >= 0;
}

}  // namespace millrace::model
