#include "loadtest/client/event_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::loadtest {
namespace {

std::vector<std::string> read(const std::vector<std::string_view>& pieces) {
  EventReader reader;
  std::vector<std::string> events;
  for (std::string_view piece : pieces) {
    while (reader.next(piece)) {
      events.push_back(reader.data());
      EXPECT_GE(reader.data().capacity(), reader.data().size() + EventReader::kPadding);
    }
  }
  return events;
}

TEST(EventReader, FindsEventsHoweverTheyAreCut) {
  const std::string text =
      ": a comment\r\n\r\ndata: one\r\n\r\nevent: x\nid: 7\ndata:two\n\n\n\ndata:  three\ndata: lines\ndata\n\nretry: "
      "5\n\n"
      "database: no\ndata: \n\ndata: [DONE]\n\ndata: never ended\n";
  const std::vector<std::string> wanted = {"one", "two", " three\nlines\n", "", "[DONE]"};
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < text.size(); ++i) bytes.push_back(std::string_view(text).substr(i, 1));
  EXPECT_EQ(read({text}), wanted);
  EXPECT_EQ(read(bytes), wanted);
  for (std::size_t i = 1; i < text.size(); ++i) {
    ASSERT_EQ(read({std::string_view(text).substr(0, i), std::string_view(text).substr(i)}), wanted) << i;
  }
}

TEST(EventReader, GivesUpOnAnEventWithoutEnd) {
  const std::string piece(1 << 20, 'x');
  for (const bool lines : {false, true}) {
    EventReader reader;
    std::size_t fed = 0;
    while (!reader.too_long() && fed < 3 * EventReader::kEventBytes) {
      std::string_view bytes = piece;
      EXPECT_FALSE(reader.next(bytes));
      std::string_view border = "\ndata: ";
      if (lines) {
        EXPECT_FALSE(reader.next(border));
      }
      fed += piece.size();
    }
    EXPECT_TRUE(reader.too_long());
    EXPECT_LE(fed, EventReader::kEventBytes + 2 * piece.size());
  }
}

}  // namespace
}  // namespace millrace::loadtest
