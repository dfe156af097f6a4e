#include "screen/markdown_stream.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::screen {
namespace {

struct Shown {
  std::string text;
  int columns = 80;
  Look look{.terminal = true, .styles = true, .ascii = false, .columns = [this] { return columns; }};
  WordWrap wrap{[this](std::string_view s) { text += s; }, [this] { return columns; }, true};
};

// Without escape codes.
std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string shown(std::string_view source, std::size_t piece, int columns = 80, bool styles = true) {
  Shown to;
  to.columns = columns;
  to.look.styles = styles;
  WordWrap wrap([&](std::string_view s) { to.text += s; }, to.look.columns, styles);
  MarkdownStream stream(wrap, to.look);
  for (std::size_t at = 0; at < source.size(); at += piece) stream.push(source.substr(at, piece));
  stream.finish();
  return to.text;
}

constexpr const char* kSource =
    "# Title\n\nSome **bold** and *slanted* text with `code * here`, 2 * 3 and snake_case_name.\n\n"
    "- one **item**\n- two\n  1. inner [link](http://a.b)\n\n> said\n\n```cpp\nint a = 1;  // **not bold**\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | `x` |\n\n---\nend [1] of *all";

TEST(MarkdownStream, ShowsTheSameHoweverTheTextIsCut) {
  const std::string whole = shown(kSource, 10000);
  for (const std::size_t piece : {1, 2, 3, 7, 20}) EXPECT_EQ(shown(kSource, piece), whole) << piece;
}

TEST(MarkdownStream, RendersBlocksAndSpans) {
  const std::string whole = shown(kSource, 1), text = plain(whole);
  EXPECT_EQ(text.find("# Title"), text.npos);
  EXPECT_EQ(text.find("**item"), text.npos);
  for (const char* part : {"Title\n", "Some bold and slanted text with code * here, 2 * 3 and snake_case_name.",
                           "• one item\n", "  1. inner link (http://a.b)\n", "│ said\n",
                           "int a = 1;  // **not bold**\n", "a │ b\n", "1 │ x\n", "────", "end [1] of *all"}) {
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
  }
  EXPECT_NE(whole.find("\x1b[0;1mbold"), whole.npos) << whole;
  EXPECT_NE(whole.find("\x1b[0;36mcode"), whole.npos) << whole;
}

TEST(MarkdownStream, BreaksLinesBetweenWordsAndHangsLists) {
  EXPECT_EQ(plain(shown("- alpha beta gamma delta epsilon", 1, 20)), "• alpha beta gamma\n  delta epsilon");
  EXPECT_EQ(plain(shown("abcdefghijklmnopqrstuvwxyz", 1, 20)), "abcdefghijklmnopqrs\ntuvwxyz");
  EXPECT_EQ(plain(shown("漢字漢字漢字漢字漢字漢字", 3, 20)), "漢字漢字漢字漢字漢\n字漢字");
}

TEST(MarkdownStream, WithoutStylesShowsTheSourceWrapped) {
  EXPECT_EQ(shown("# T\n- **a** bcd efgh ijklm nopq\n", 1, 20, false), "# T\n- **a** bcd efgh\n  ijklm nopq\n");
}

TEST(MarkdownStream, ControlCharactersCannotSteerTheTerminal) {
  EXPECT_EQ(shown("a\x1b[2Jb\r\n", 100, 80, false), "a\\x1b[2Jb\\x0d\n");
}

TEST(WordWrap, FollowsAResize) {
  Shown to;
  to.columns = 20;
  for (const char c : std::string("alpha beta gamma ")) to.wrap.put(static_cast<char32_t>(c));
  to.columns = 12;
  for (const char c : std::string("delta epsilon ")) to.wrap.put(static_cast<char32_t>(c));
  to.wrap.flush();
  EXPECT_EQ(to.text, "alpha beta gamma\ndelta\nepsilon");
}

}  // namespace
}  // namespace millrace::screen
