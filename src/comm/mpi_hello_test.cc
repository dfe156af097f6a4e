#include "comm/transports/mpi_hello.h"

#include <gtest/gtest.h>

namespace millrace::comm {
namespace {

std::vector<std::byte> told(const MpiHello& hello) {
  ByteWriter bytes;
  bytes(hello);
  return bytes.take();
}

TEST(MpiHello, OfTheRightNumberAndVersionIsKnown) {
  const std::vector<std::vector<std::byte>> all = {told(own_hello(2)),
                                                   told({.stages = 2, .process = 7, .host = "b", .boot = {}})};
  const auto known = read_hellos(all, 2, 2).or_throw();
  EXPECT_EQ(known[0].process, getpid());
  EXPECT_EQ(known[1].host, "b");
}

TEST(MpiHello, OfOthersIsRefusedByRank) {
  const auto refusal = [](const std::vector<std::vector<std::byte>>& all, int ranks) {
    const auto known = read_hellos(all, ranks, 1);
    return known ? std::string() : known.error().message;
  };
  const std::vector<std::byte> good = told(own_hello(1));
  EXPECT_EQ(refusal({good}, 2), "rank 0 says who 1 ranks are: must be 2");  // rank 1 would be none of them
  EXPECT_EQ(refusal({}, 1), "rank 0 says who 0 ranks are: must be 1");
  EXPECT_EQ(refusal({good, {}}, 2), "rank 1 is of another version of millrace");
  EXPECT_EQ(refusal({good, told({.magic = 5, .host = {}, .boot = {}})}, 2), "rank 1 is of another version of millrace");
  EXPECT_EQ(refusal({good, told({.host = "a\nb", .boot = {}})}, 2), "rank 1 is of another version of millrace");
  EXPECT_EQ(refusal({good, told({.stages = 3, .process = 4, .host = "b", .boot = {}})}, 2),
            "rank 1 (process 4 on host b) was told of 3 stages, this one of 1");
}

}  // namespace
}  // namespace millrace::comm
