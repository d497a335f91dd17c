#include "interrupt.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace lingbot_map::tool {
namespace {

using namespace std::chrono_literals;

void send(int signal) { kill(getpid(), signal); }

void wait_for(const std::atomic<bool>& flag) {
  for (int i = 0; i < 500 && !flag; ++i) std::this_thread::sleep_for(10ms);
}

class InterruptTest : public testing::Test {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
  }
};

TEST_F(InterruptTest, CallsBackOnTheFirstSignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::atomic<bool> called = false;
    Interrupt interrupt;
    interrupt.arm([&] { called = true; });
    EXPECT_FALSE(interrupt.happened());
    send(signal);
    wait_for(called);
    EXPECT_TRUE(called);
    EXPECT_TRUE(interrupt.happened());
  }
}

TEST_F(InterruptTest, EndsWithoutASignal) {
  { const Interrupt unarmed; }
  Interrupt armed;
  armed.arm([] { FAIL(); });
}

TEST_F(InterruptTest, TheSecondSignalEndsTheProgram) {
  EXPECT_EXIT(
      {
        std::atomic<bool> called = false;
        Interrupt interrupt;
        interrupt.arm([&] { called = true; });
        send(SIGINT);
        wait_for(called);
        std::this_thread::sleep_for(20ms);
        send(SIGINT);
        std::this_thread::sleep_for(5s);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST_F(InterruptTest, ASignalBeforeArmingEndsTheProgram) {
  EXPECT_EXIT(
      {
        const Interrupt interrupt;
        send(SIGTERM);
        std::this_thread::sleep_for(5s);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST_F(InterruptTest, AnIgnoredSignalStaysIgnored) {
  signal(SIGINT, SIG_IGN);
  std::atomic<bool> called = false;
  Interrupt interrupt;
  interrupt.arm([&] { called = true; });
  send(SIGINT);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(called);
  EXPECT_FALSE(interrupt.happened());
  signal(SIGINT, SIG_DFL);
}

}  // namespace
}  // namespace lingbot_map::tool
