#include "interrupt.hpp"

#include <utility>

namespace lingbot_map::tool {
namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) {
    if (is_ignored(signal)) continue;
    sigaddset(&signals_, signal);
    wake_signal_ = signal;
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &earlier_mask_);
  if (wake_signal_ != 0) watcher_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
  bool waiting = false;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    waiting = waiting_;
  }
  changed_.notify_all();
  // sigwait is woken by a signal to this very thread; one from outside that comes first does as well.
  if (waiting) pthread_kill(watcher_.native_handle(), wake_signal_);
  if (watcher_.joinable()) watcher_.join();
  pthread_sigmask(SIG_SETMASK, &earlier_mask_, nullptr);
}

void Interrupt::arm(std::function<void()> on_first) {
  if (wake_signal_ == 0) return;
  std::unique_lock lock(mutex_);
  on_first_ = std::move(on_first);
  changed_.notify_all();
  changed_.wait(lock, [this] { return waiting_; });
}

bool Interrupt::happened() {
  const std::lock_guard lock(mutex_);
  return happened_;
}

void Interrupt::watch() {
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || on_first_; });
  if (stop_) return;
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  waiting_ = true;
  changed_.notify_all();
  lock.unlock();

  int signal = 0;
  if (sigwait(&signals_, &signal) != 0) return;

  lock.lock();
  waiting_ = false;
  if (stop_) return;
  happened_ = true;
  lock.unlock();
  on_first_();
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  lock.lock();
  changed_.wait(lock, [this] { return stop_; });
}

}  // namespace lingbot_map::tool
