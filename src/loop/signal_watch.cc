#include "loop/signal_watch.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/errno_error.h"

namespace tenon::loop {

Result<std::unique_ptr<SignalWatch>> SignalWatch::Create(EventLoop& loop,
                                                         std::initializer_list<int> signals,
                                                         Callback callback) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals)
    sigaddset(&set, signal);
  if (int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    return base::ErrnoError("pthread_sigmask", "", error);
  base::UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return base::ErrnoError("signalfd", "");
  std::unique_ptr<SignalWatch> self(new SignalWatch(std::move(fd), std::move(callback)));
  TENON_TRY(self->watch_, loop.WatchFd(self->fd_.get(), kReadable,
                                       [raw = self.get()](unsigned) { raw->OnReadable(); }));
  return self;
}

void SignalWatch::OnReadable() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) == sizeof info)
    callback_(static_cast<int>(info.ssi_signo));
}

}  // namespace tenon::loop
