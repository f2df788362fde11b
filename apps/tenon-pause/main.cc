// What a pod's sandbox runs under a CRI runtime: nothing. It holds the namespaces that the pod's
// containers share, reaps what is left to it where they share the pid namespace, and ends when it
// is told to.
#include <sys/wait.h>

#include <csignal>
#include <initializer_list>

int main() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  for (;;) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGCHLD) return 0;
    while (waitpid(-1, nullptr, WNOHANG) > 0)
      continue;
  }
}
