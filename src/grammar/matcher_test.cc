#include "grammar/matcher.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "grammar/compiled_grammar.h"
#include "grammar/language.h"
#include "grammar/testing/grammars.h"
#include "grammar/testing/reference_matcher.h"
#include "grammar/vocabulary.h"
#include "text/testing/vocabularies.h"
#include "unicode/code_points.h"

namespace millrace::grammar {
namespace {

// Tokens of a byte and of several, one letter twice, one special, a byte that no text has, and an end of generation.
std::shared_ptr<const text::Tokenizer> small_tokenizer(const std::string& letters, unsigned seed) {
  std::vector<std::string> alphabet;
  for (std::size_t at = 0; at < letters.size(); at += alphabet.back().size()) {
    alphabet.push_back(letters.substr(at, unicode::code_point_at(letters, at).size));
  }
  text::GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  const auto add = [&](const std::string& text, std::int32_t type) {
    vocabulary.tokens.push_back(text);
    vocabulary.token_types.push_back(type);
    vocabulary.scores.push_back(0.0f);
  };
  add("<unk>", 2);
  add("<s>", 3);
  add("</s>", 3);
  add("<call>", 3);
  for (const std::string& letter : alphabet) add(letter, 1);
  add(fmt::format("<0x{:02X}>", static_cast<unsigned char>(letters[0])), 6);
  add("<0xFF>", 6);
  std::mt19937 random(seed);
  for (int i = 0; i < 150; ++i) {
    std::string text;
    for (unsigned n = 2 + random() % 5; n > 0; --n) text += alphabet[random() % alphabet.size()];
    if (std::ranges::find(vocabulary.tokens, text) == vocabulary.tokens.end()) add(text, 1);
  }
  vocabulary.bos = 1;
  vocabulary.eos = 2;
  return text::load_gguf_tokenizer(std::move(vocabulary)).or_throw();
}

bool fits(const Grammar& grammar, std::string_view text) {
  WorkMeter meter;
  auto compiled = compile(grammar, make_vocabulary(small_tokenizer("ab", 1)), meter);
  if (!compiled) {
    ADD_FAILURE() << compiled.error().message;
    return false;
  }
  Matcher matcher(*compiled);
  return matcher.accept_bytes(text) && matcher.may_end();
}

Grammar counted(std::int64_t least, std::int64_t most) {
  Grammar g;
  unicode::CodePointSet set = set_of('a', 'c');
  set.add(0xe9, 0x2000);
  const ExpressionId part = g.choice({g.character(set), g.bytes("\\n")});
  g.set_root(g.sequence({g.bytes("\""), g.repeat(part, least, most), g.bytes("\""), g.bytes("}")}));
  return g;
}

TEST(Matcher, FollowsLeftRecursion) {
  const Grammar g = arithmetic();
  for (const char* text : {"1", "123", "1+2", "1*2+3*(4+5)", "((((7))))", "1+2+3+4*5*6"})
    EXPECT_TRUE(fits(g, text)) << text;
  for (const char* text : {"", "1234", "+1", "1+", "(1", "1)", "1**2", "()"}) EXPECT_FALSE(fits(g, text)) << text;
}

TEST(Matcher, FollowsLeftRecursionBehindWhatMayBeEmpty) {
  const Grammar g = hidden();
  for (const char* text : {"", "z", "y", "xy", "xzy", "xxzyy", "zyyy", "xyy"}) EXPECT_TRUE(fits(g, text)) << text;
  for (const char* text : {"x", "xz", "xxzy", "zz", "yz"}) EXPECT_FALSE(fits(g, text)) << text;
}

TEST(Matcher, FollowsAmbiguousGrammars) {
  const Grammar g = ambiguous();
  for (const char* text : {"a", "aa", "bab", "baabbab", "bbabb", "abababab"}) EXPECT_TRUE(fits(g, text)) << text;
  for (const char* text : {"", "b", "ba", "bb", "abb", "babb"}) EXPECT_FALSE(fits(g, text)) << text;
  EXPECT_TRUE(fits(g, std::string(300, 'a')));
}

TEST(Matcher, CountsRepetitions) {
  EXPECT_TRUE(fits(counted(2, 2), "\"ab\"}"));
  EXPECT_FALSE(fits(counted(2, 2), "\"abc\"}"));
  EXPECT_FALSE(fits(counted(2, 2), "\"a\"}"));
  EXPECT_TRUE(fits(counted(0, 500), "\"" + std::string(500, 'a') + "\"}"));
  EXPECT_FALSE(fits(counted(0, 500), "\"" + std::string(501, 'a') + "\"}"));
  EXPECT_TRUE(fits(counted(300, kUnlimited), "\"" + std::string(300, 'c') + "\"}"));
  EXPECT_FALSE(fits(counted(300, kUnlimited), "\"" + std::string(299, 'c') + "\"}"));
  EXPECT_TRUE(fits(counted(3, 4), "\"é\\n\xC3\xA9\"}"));
  EXPECT_FALSE(fits(counted(1, 4), "\"\xC3\"}"));
}

TEST(Matcher, RefusesWhatNeverEnds) {
  WorkMeter meter;
  const auto vocabulary = make_vocabulary(small_tokenizer("ab", 1));
  Grammar g;
  const RuleId a = g.declare("a");
  g.define(a, g.sequence({g.bytes("x"), g.rule(a)}));
  g.set_root(g.rule(a));
  EXPECT_EQ(compile(g, vocabulary, meter).error().code, ErrorCode::kInvalidArgument);
  Grammar itself;
  const RuleId b = itself.declare("b");
  itself.define(b, itself.rule(b));
  itself.set_root(itself.rule(b));
  EXPECT_EQ(compile(itself, vocabulary, meter).error().code, ErrorCode::kInvalidArgument);
  Grammar undefined;
  undefined.set_root(undefined.rule(undefined.declare("c")));
  EXPECT_EQ(compile(undefined, vocabulary, meter).error().code, ErrorCode::kInvalidArgument);
}

TEST(Matcher, RefusesWhatIsTooMuch) {
  WorkLimits limits;
  limits.states = 1000;
  const auto vocabulary = make_vocabulary(small_tokenizer("ab", 1));
  WorkMeter meter(limits);
  EXPECT_EQ(compile(counted(0, 2000), vocabulary, meter).error().code, ErrorCode::kResourceExhausted);
  const std::atomic<bool> cancelled = true;
  WorkMeter unwanted({}, &cancelled);
  EXPECT_EQ(compile(counted(0, 2000), vocabulary, unwanted).error().code, ErrorCode::kCancelled);
}

TEST(Matcher, GivesUpOnWhatTakesTooMuchWhileItIsUsed) {
  const auto vocabulary = make_vocabulary(small_tokenizer("ab", 1));
  WorkMeter meter;
  const auto compiled = compile(far_from_its_end(), vocabulary, meter).or_throw();
  Matcher matcher(compiled);
  std::mt19937 random(1);
  std::vector<std::uint64_t> words(vocabulary->words());
  for (int i = 0; i < 100'000 && !matcher.failed(); ++i) {
    if (i % 50 == 0) matcher.fill_mask(words);
    matcher.accept_bytes(random() % 2 == 0 ? "a" : "b");
  }
  EXPECT_TRUE(matcher.failed());
  EXPECT_LE(compiled->memory(), CompiledGrammar::kMaxBytes + (CompiledGrammar::kMaxBytes >> 2));
  matcher.fill_mask(words);
  EXPECT_TRUE(std::ranges::all_of(words, [](std::uint64_t word) { return word == 0; }));
  Matcher again(compiled->renewed());
  EXPECT_TRUE(again.accept_bytes("ab"));
}

TEST(Matcher, ReadsSpecialTokensAndNotTheirText) {
  const auto tokenizer = small_tokenizer("<>acl", 3);
  WorkMeter meter;
  Grammar g;
  g.set_root(g.sequence({g.special("<call>"), g.bytes("a")}));
  Matcher matcher(compile(g, make_vocabulary(tokenizer), meter).or_throw());
  EXPECT_FALSE(Matcher(matcher).accept_bytes("<call>"));
  EXPECT_FALSE(Matcher(matcher).accept(*tokenizer->find("<0xFF>")));  // as which special tokens are read
  EXPECT_FALSE(matcher.accept(*tokenizer->find("a")));
  EXPECT_TRUE(matcher.accept(*tokenizer->find("<call>")));
  EXPECT_TRUE(matcher.accept(*tokenizer->find("a")));
  EXPECT_TRUE(matcher.must_end());
  EXPECT_TRUE(matcher.accept(2));
}

TEST(Matcher, TellsWhatIsForced) {
  Grammar g;
  g.set_root(g.sequence({g.bytes("{\"name\": "), g.choice({g.bytes("true"), g.bytes("tree")}), g.bytes("}")}));
  WorkMeter meter;
  Matcher matcher(compile(g, make_vocabulary(small_tokenizer("ab", 1)), meter).or_throw());
  EXPECT_EQ(matcher.forced(100), "{\"name\": tr");
  EXPECT_EQ(matcher.forced(3), "{\"n");
  ASSERT_TRUE(matcher.accept_bytes("{\"name\": tre"));
  const Matcher kept = matcher;
  EXPECT_EQ(matcher.forced(100), "e}");
  ASSERT_TRUE(matcher.accept_bytes("e}"));
  EXPECT_TRUE(matcher.must_end());
  EXPECT_FALSE(kept.may_end());
}

TEST(Matcher, NothingIsForcedWhereTheTextMayEndOrGoOnOtherwise) {
  WorkMeter meter;
  const auto vocabulary = make_vocabulary(small_tokenizer("ab", 1));
  const auto matcher_of = [&](const char* pattern) {
    return Matcher(
        compile(read_grammar({.language = "regex", .text = pattern}, meter).or_throw(), vocabulary, meter).or_throw());
  };
  EXPECT_EQ(matcher_of("ab(cd)?").forced(100), "ab");
  EXPECT_EQ(matcher_of("ab[0-9]c").forced(100), "ab");
  Matcher open = matcher_of("ab*");
  ASSERT_TRUE(open.accept_bytes("a"));
  EXPECT_TRUE(open.may_end());
  EXPECT_FALSE(open.must_end());
}

// What a mask says of every token is what reading its bytes says, wherever a text has come to.
void expect_right_masks(const Grammar& grammar, const std::shared_ptr<Vocabulary>& vocabulary, std::mt19937& random) {
  WorkMeter meter;
  const auto compiled = compile(grammar, vocabulary, meter).or_throw();
  const text::Tokenizer& tokenizer = vocabulary->tokenizer();
  for (int walk = 0; walk < 40; ++walk) {
    Matcher matcher(compiled);
    std::string text;
    for (int length = 0; length < 10; ++length) {
      std::vector<std::uint64_t> words(vocabulary->words());
      matcher.fill_mask(words);
      std::vector<std::int32_t> allowed;
      for (std::int32_t token = 0; token < tokenizer.vocab_size(); ++token) {
        const bool says = words[static_cast<std::size_t>(token) / 64] >> (token % 64) & 1;
        ASSERT_EQ(says, Matcher(matcher).accept(token))
            << "'" << tokenizer.token_text(token) << "' after '" << text << "'" << (matcher.failed() ? " failed" : "");
        if (says && token != 2) allowed.push_back(token);
      }
      if (allowed.empty()) break;
      const std::int32_t chosen = allowed[random() % allowed.size()];
      ASSERT_TRUE(matcher.accept(chosen));
      text += tokenizer.token_text(chosen);
    }
  }
}

TEST(Matcher, MasksAreWhatReadingTheTokensWouldSay) {
  const std::vector<std::pair<Grammar, std::string>> grammars = {
      {arithmetic(), "0123+*()"},    {hidden(), "xyz"},
      {ambiguous(), "ab"},           {counted(0, 3), "abc\\n\"}"},
      {counted(2, 40), "abc\\n\"}"}, {counted(5, kUnlimited), "abc\\n\"}"}};
  std::mt19937 random(7);
  for (const auto& [grammar, alphabet] : grammars) {
    expect_right_masks(grammar, make_vocabulary(small_tokenizer(alphabet, 5)), random);
  }
}

// They share what they have in common through the vocabulary, and are alike in almost all.
TEST(Matcher, MasksOfGrammarsThatDifferALittleAreTheirOwn) {
  const auto vocabulary = make_vocabulary(small_tokenizer("abcdefghijkl!", 5));
  std::mt19937 random(7);
  for (const char* pattern :
       {"[a-l]+!", "[a-k]+!", "[a-l]+", "[a-l]*!?", "[a-l]{1,2}!", "[a-l]{1,3}!", "[a-l]{3,4}", "([a-l]{2})+!",
        "([a-l]{3})+!", "[a-l]+!a", "[a-l]+![a-b]", "([a-l][a-k])+!", "(([a-l]{3,9}!){2,9}a){2,9}b",
        "(([a-l]{3,9}!){2,9}b){2,9}a", "((([a-l]{8,9}!){8,9}c){8,9}d){8,9}", "(([a-l]{9}){9}!){9}"}) {
    SCOPED_TRACE(pattern);
    WorkMeter meter;
    expect_right_masks(read_grammar({.language = "regex", .text = pattern}, meter).or_throw(), vocabulary, random);
  }
  for (const char* rule : {"[a-l]{2}", "[a-l]{1,2}", "[a-l]{3}", "[a-l]{2,3}", "[a-l]{1,3}", "[a-l]+"}) {
    SCOPED_TRACE(rule);
    WorkMeter meter;
    const std::string text = std::string("root ::= x \"!\"\nx ::= ") + rule;
    expect_right_masks(read_grammar({.language = "gbnf", .text = text}, meter).or_throw(), vocabulary, random);
  }
}

// A letter of two bytes within what is repeated within what is repeated: rules that are parts of rules.
TEST(Matcher, MasksReachOverTheEndsOfSeveralRules) {
  const auto vocabulary = make_vocabulary(small_tokenizer("éàa!b", 5));
  std::mt19937 random(7);
  for (const char* pattern : {"(([à-ÿ]{1,2}a?!){9,12}b){9,20}a", "(([à-ÿ]a{0,9}){9,12}!){9,20}b"}) {
    SCOPED_TRACE(pattern);
    WorkMeter meter;
    expect_right_masks(read_grammar({.language = "regex", .text = pattern}, meter).or_throw(), vocabulary, random);
  }
}

TEST(Matcher, AllowsTokensThatAreWrittenAlike) {
  const auto vocabulary = make_vocabulary(small_tokenizer("ab", 1));
  Grammar g;
  g.set_root(g.bytes("a"));
  WorkMeter meter;
  Matcher matcher(compile(g, vocabulary, meter).or_throw());
  std::vector<std::uint64_t> words(vocabulary->words());
  matcher.fill_mask(words);
  for (const char* token : {"a", "<0x61>"}) {
    const auto id = static_cast<std::size_t>(*vocabulary->tokenizer().find(token));
    EXPECT_TRUE(words[id / 64] >> (id % 64) & 1) << token;
  }
}

// Rules over two letters, drawn at random: recursive in any way, empty, ambiguous, without end.
class RandomGrammar {
 public:
  explicit RandomGrammar(unsigned seed) : random_(seed) {}

  Grammar make() {
    Grammar g;
    for (int i = 0; i < 3; ++i) rules_.push_back(g.declare("rule" + std::to_string(i)));
    for (const RuleId rule : rules_) g.define(rule, expression(g, 3));
    g.set_root(g.rule(rules_[0]));
    return g;
  }

 private:
  ExpressionId expression(Grammar& g, int depth) {
    const unsigned kind = random_() % (depth > 0 ? 9 : 4);
    if (kind <= 1) return g.bytes(random_() % 2 == 0 ? "a" : "b");
    if (kind == 2) return g.bytes(random_() % 3 == 0 ? "" : "ab");
    if (kind == 3) return g.rule(rules_[random_() % rules_.size()]);
    if (kind == 4) {
      const auto least = static_cast<std::int64_t>(random_() % 3);
      return g.repeat(expression(g, depth - 1), least,
                      random_() % 2 == 0 ? kUnlimited : least + static_cast<std::int64_t>(random_() % 3));
    }
    std::vector<ExpressionId> parts;
    for (unsigned n = 1 + random_() % 3; n > 0; --n) parts.push_back(expression(g, depth - 1));
    return kind <= 6 ? g.sequence(std::move(parts)) : g.choice(std::move(parts));
  }

  std::mt19937 random_;
  std::vector<RuleId> rules_;
};

// Every text of up to 7 letters: whether it fits, and whether it begins one that does, so that no mask leads into a
// dead end and none keeps out what fits.
TEST(Matcher, IsWhatTheDefinitionSaysOfAnyGrammar) {
  const auto vocabulary = make_vocabulary(small_tokenizer("ab", 1));
  int made = 0, fitting = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    const Grammar grammar = RandomGrammar(seed).make();
    ReferenceMatcher reference(grammar);
    std::vector<std::string> texts = {""};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].size() < 7) texts.push_back(texts[i] + 'a'), texts.push_back(texts[i] + 'b');
    }
    std::vector<std::string> fits;
    for (const std::string& text : texts) {
      if (reference.matches(text)) fits.push_back(text);
    }
    WorkMeter meter;
    const auto compiled = compile(grammar, vocabulary, meter);
    if (!compiled) {
      EXPECT_TRUE(fits.empty()) << seed << " " << compiled.error().message;
      continue;
    }
    ++made;
    fitting += static_cast<int>(fits.size());
    for (const std::string& text : texts) {
      Matcher matcher(*compiled);
      const bool begins = matcher.accept_bytes(text);
      ASSERT_EQ(begins && matcher.may_end(), std::ranges::find(fits, text) != fits.end())
          << seed << " '" << text << "'";
      const bool known = std::ranges::any_of(fits, [&](const std::string& one) { return one.starts_with(text); });
      ASSERT_TRUE(begins || !known) << seed << " '" << text << "'";
      if (!begins || matcher.may_end()) continue;
      std::vector<std::uint64_t> words(vocabulary->words());
      matcher.fill_mask(words);
      ASSERT_TRUE(std::ranges::any_of(words, [](std::uint64_t word) { return word != 0; }))
          << seed << " '" << text << "'";
    }
  }
  EXPECT_GT(made, 40);
  EXPECT_GT(fitting, 300);
}

TEST(Matcher, SharesWhatGrammarsHaveInCommon) {
  const auto vocabulary = make_vocabulary(small_tokenizer("abc\\n\"}", 5));
  WorkMeter meter;
  const auto one = compile(counted(0, 30), vocabulary, meter).or_throw();
  const auto other = compile(counted(0, 60), vocabulary, meter).or_throw();
  Matcher a(one), b(other);
  ASSERT_TRUE(a.accept_bytes("\"aaa"));
  ASSERT_TRUE(b.accept_bytes("\"aaaaaaa"));
  std::vector<std::uint64_t> words(vocabulary->words());
  a.fill_mask(words);
  const std::size_t known = vocabulary->known();
  b.fill_mask(words);  // far from its end, as a is
  EXPECT_EQ(vocabulary->known(), known);
}

}  // namespace
}  // namespace millrace::grammar
