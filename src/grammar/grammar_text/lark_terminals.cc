#include "grammar/grammar_text/lark_terminals.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::grammar {
namespace {

#define DECIMAL R"((?:[0-9]+\.[0-9]*|\.[0-9]+))"
#define EXPONENT R"((?:[eE][+-]?[0-9]+))"
#define FLOAT "(?:[0-9]+" EXPONENT "|" DECIMAL EXPONENT "?)"

constexpr auto kTerminals = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", DECIMAL},
    {"FLOAT", FLOAT},
    {"SIGNED_FLOAT", "[+-]?" FLOAT},
    {"NUMBER", FLOAT "|[0-9]+"},
    {"SIGNED_NUMBER", "[+-]?(?:" FLOAT "|[0-9]+)"},
    {"ESCAPED_STRING", R"("(?:[^"\\\n]|\\[^\n])*")"},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[A-Za-z]"},
    {"WORD", "[A-Za-z]+"},
    {"CNAME", "[_A-Za-z][_A-Za-z0-9]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
    {"C_COMMENT", R"(/\*(?:[^*]|\*+[^*/])*\*+/)"},
    {"SQL_COMMENT", "--[^\\n]*"},
});

#undef DECIMAL
#undef EXPONENT
#undef FLOAT

}  // namespace

std::optional<std::string_view> common_terminal(std::string_view name) {
  const auto* const found = std::ranges::find(kTerminals, name, &std::pair<std::string_view, std::string_view>::first);
  return found == kTerminals.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace millrace::grammar
