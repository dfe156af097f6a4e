#include "base/thread_name.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

namespace millrace {
namespace {

TEST(ThreadName, IsWhatTheSystemShows) {
  std::string shown, cut;
  std::thread([&] {
    name_thread("worker-7");
    std::getline(std::ifstream("/proc/thread-self/comm"), shown);
    name_thread("a name of more than fifteen bytes");
    std::getline(std::ifstream("/proc/thread-self/comm"), cut);
  }).join();
  EXPECT_EQ(shown, "worker-7");
  EXPECT_EQ(cut, "a name of more ");
}

}  // namespace
}  // namespace millrace
