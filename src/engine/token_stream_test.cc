#include "engine/token_stream.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace millrace::engine {
namespace {

// A reader who sleeps whenever the ring is empty is woken by what comes next, however close the two come.
TEST(TokenStream, NeverLeavesAReaderAsleepWithSomethingToRead) {
  constexpr int kOutputs = 300'000;
  std::mutex mutex;
  std::condition_variable wake;
  bool rung = false;
  TokenStream stream(1, [&] {
    const std::scoped_lock lock(mutex);
    rung = true;
    wake.notify_one();
  });
  std::jthread writer([&](const std::stop_token& stop) {
    for (int i = 0; i < kOutputs && !stop.stop_requested(); ++i) {
      while (stream.crowded() && !stop.stop_requested()) std::this_thread::yield();
      for (int pause = i % 61 * 4; pause > 0; --pause) (void)stream.crowded();  // so that the reader catches up often
      Output output;
      output.choice = i;
      stream.push(std::move(output));
    }
  });
  for (int read = 0; read < kOutputs;) {
    if (const auto output = stream.try_pop()) {
      ASSERT_EQ(output->choice, read++);
      continue;
    }
    std::unique_lock lock(mutex);
    ASSERT_TRUE(wake.wait_for(lock, std::chrono::seconds(10), [&] { return rung; })) << "after " << read;
    rung = false;
  }
}

}  // namespace
}  // namespace millrace::engine
