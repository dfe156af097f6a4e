// A text offered piece by piece to one of a few grammars, which are recursive on the left and in the middle, ambiguous,
// counted or made of automata: after each piece the matcher says what the definition of the grammar says. The first
// byte chooses the grammar; of those that follow each chooses a step and what it takes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "grammar/compiled_grammar.h"
#include "grammar/language.h"
#include "grammar/matcher.h"
#include "grammar/testing/grammars.h"
#include "grammar/testing/reference_matcher.h"
#include "text/testing/vocabularies.h"

namespace {

using namespace millrace;
using namespace millrace::grammar;

constexpr std::size_t kMaxText = 16;        // bytes: the reference is slow,
constexpr std::size_t kMaxAmbiguous = 7;    // and slowest where a text may be read in many ways
constexpr std::size_t kMaxBytes = 8 << 20;  // of a compiled grammar, before it is begun anew
constexpr int kMaxSteps = 16;

// All bytes, and pieces of what the grammars have, cut at every kind of place.
std::shared_ptr<Vocabulary> vocabulary() {
  static const std::shared_ptr<Vocabulary> made = [] {
    text::GgufVocabulary tokens = text::small_byte_level_vocabulary("gpt2");
    for (const char* piece :
         {"aa",    "ab",           "ba",       "bab",      "abb", "1+",  "+1",  "(1",  "1)", "*(",   ")+",      "12",
          "\"a\"", "\":",          "\",",      "{\"",      "\"}", "],",  "[]",  "tru", "ue", "\\u",  "\\ud83d", "\\ude",
          "00e9",  "\xc3\xa9\xc3", "\xf0\x9f", "\x98\x80", "en",  "end", "nd,", "((",  "xy", "\n\n", "  "}) {
      tokens.tokens.push_back(text::spelling_of_bytes(piece));
      tokens.token_types.push_back(1);
    }
    return make_vocabulary(text::load_gguf_tokenizer(std::move(tokens)).or_throw());
  }();
  return made;
}

Grammar from_source(std::string language, std::string text) {
  WorkMeter meter;
  return read_grammar({.language = std::move(language), .text = std::move(text)}, meter).or_throw();
}

Grammar counted() {
  Grammar g;
  unicode::CodePointSet set = set_of('0', '9');
  set.add(0xe9, 0x2000);
  const ExpressionId part = g.choice({g.character(set), g.bytes("\\n"), g.bytes("aa")});
  g.set_root(g.sequence({g.bytes("\""), g.repeat(part, 2, 5), g.bytes("\""), g.repeat(g.bytes("ab"), 1, kUnlimited)}));
  return g;
}

Grammar spelled() {  // characters as JSON strings have them
  Grammar g;
  const ExpressionId known = g.automaton(CharAutomaton::words({U"é\n", U"😀/", U"aé"}), Spelling::kJsonString);
  const ExpressionId any = g.automaton(CharAutomaton::length(0, 3), Spelling::kJsonString);
  g.set_root(g.sequence({g.choice({known, any}), g.bytes("\""), g.repeat(any, 0, 2), g.bytes("]")}));
  return g;
}

Grammar free_text() {  // as answers that may end in a call
  Grammar g;
  const ExpressionId call =
      g.sequence({g.bytes("end,"), g.repeat(g.character(set_of('0', '9')), 1, kUnlimited), g.bytes("!")});
  g.set_root(g.sequence({g.automaton(CharAutomaton::without({U"end", U"nd,"})), g.optional(call)}));
  return g;
}

struct SystemUnderTest {
  Grammar grammar;
  std::size_t max_text;
  std::shared_ptr<CompiledGrammar> compiled;

  explicit SystemUnderTest(Grammar from, std::size_t most = kMaxText) : grammar(std::move(from)), max_text(most) {
    WorkMeter meter;
    compiled = compile(grammar, vocabulary(), meter).or_throw();
  }
};

std::span<SystemUnderTest> subjects() {
  static std::array all = {SystemUnderTest(arithmetic()),
                           SystemUnderTest(hidden()),
                           SystemUnderTest(ambiguous(), kMaxAmbiguous),
                           SystemUnderTest(counted()),
                           SystemUnderTest(spelled()),
                           SystemUnderTest(free_text()),
                           SystemUnderTest(from_source(
                               "json_schema",
                               R"({"type": "object", "properties": {"a": {"enum": ["aé", 12]}, "b": {"type": "string"}},
                              "required": ["a"], "additionalProperties": false})")),
                           SystemUnderTest(from_source("json_schema", R"({"type": "array", "items": {"$ref": "#"}})")),
                           SystemUnderTest(from_source("regex", "(a|ab)*b{2,3}[^x]é?(end)+")),
                           SystemUnderTest(from_source(
                               "ebnf", "root ::= list | [a-b]+ root [a-b]\nlist ::= \"(\" list? \")\" list | \"\"\n"))};
  return all;
}

// Where a text stands, and by which matcher; a copy is a fork.
struct Place {
  Matcher matcher;
  std::string text;
};

class Run {
 public:
  explicit Run(SystemUnderTest& subject)
      : reference_(subject.grammar), max_text_(subject.max_text), now_{Matcher(subject.compiled), {}} {}

  // False: the grammar takes more than it may.
  bool step(std::uint8_t what, std::span<const std::uint8_t>& data) {
    switch (what % 8) {
      case 0: return offer_token(static_cast<std::int32_t>(take(data)) + (what / 8 % 2) * 256);
      case 1: kept_.push_back(now_); break;
      case 2:
        if (!kept_.empty()) now_ = kept_[what / 8 % kept_.size()];
        break;
      case 3: return check_forced();
      case 4: return check_mask();
      default: {
        const auto bytes = take(data, 1 + what / 8 % 3u);
        return offer(bytes, now_.matcher.accept_bytes(bytes));
      }
    }
    return check_end();
  }

 private:
  static std::uint8_t take(std::span<const std::uint8_t>& data) {
    if (data.empty()) return 0;
    const std::uint8_t first = data[0];
    data = data.subspan(1);
    return first;
  }
  static std::string take(std::span<const std::uint8_t>& data, std::size_t n) {
    std::string out;
    while (out.size() < n) out += static_cast<char>(take(data));
    return out;
  }
  static bool is_text(std::int32_t token) {
    return !vocabulary()->bytes(token).empty() && !vocabulary()->tokenizer().is_special(token);
  }

  bool failed() const { return now_.matcher.failed(); }

  bool offer_token(std::int32_t token) {
    if (token >= vocabulary()->tokenizer().vocab_size() || !is_text(token)) return true;
    const std::string bytes(vocabulary()->bytes(token));
    return offer(bytes, now_.matcher.accept(token));
  }
  bool offer(const std::string& bytes, bool taken) {
    if (failed()) return false;
    CHECK_EQ(taken, reference_.begins(now_.text + bytes));
    if (taken) now_.text += bytes;
    return now_.text.size() < max_text_ && check_end();
  }
  bool check_end() {
    CHECK_EQ(now_.matcher.may_end(), reference_.matches(now_.text));
    if (now_.matcher.must_end()) CHECK(now_.matcher.may_end());
    return !failed();
  }
  // What is forced follows, and nowhere in it might the text have ended.
  bool check_forced() {
    const std::string forced = now_.matcher.forced(4);
    if (failed()) return false;
    CHECK(reference_.begins(now_.text + forced));
    for (std::size_t n = 0; n < forced.size(); ++n) {
      const std::string before = now_.text + forced.substr(0, n);
      CHECK(!reference_.matches(before));
      for (const char other : {'a', '"', '1', '\\', ' '})
        CHECK_EQ(other == forced[n], reference_.begins(before + other));
    }
    return true;
  }
  // The mask has the tokens that a copy takes, and offering the others changes nothing.
  bool check_mask() {
    std::vector<std::uint64_t> mask(now_.matcher.mask_words());
    now_.matcher.fill_mask(mask);
    if (failed()) return false;
    Matcher same = now_.matcher;
    for (std::int32_t token = 0; token < vocabulary()->tokenizer().vocab_size(); ++token) {
      const bool set = mask[static_cast<std::size_t>(token) / 64] >> (token % 64) & 1;
      Matcher copy = same;
      const bool taken = copy.accept(token);
      if (copy.failed()) return false;
      CHECK_EQ(set, taken);
      if (!taken) same = copy;
    }
    std::vector<std::uint64_t> again(mask.size());
    same.fill_mask(again);
    CHECK(again == mask);
    return true;
  }

  ReferenceMatcher reference_;
  const std::size_t max_text_;
  Place now_;
  std::vector<Place> kept_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  SystemUnderTest& subject = subjects()[bytes[0] % subjects().size()];
  if (subject.compiled->memory() > kMaxBytes || subject.compiled->failed())
    subject.compiled = subject.compiled->renewed();
  std::span<const std::uint8_t> data(bytes + 1, size - 1);
  Run run(subject);
  for (int i = 0; i < kMaxSteps && !data.empty(); ++i) {
    const std::uint8_t what = data[0];
    data = data.subspan(1);
    if (!run.step(what, data)) break;
  }
  return 0;
}
