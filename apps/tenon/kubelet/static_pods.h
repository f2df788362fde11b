#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "host/host.h"
#include "loop/event_loop.h"
#include "loop/timer_queue.h"
#include "pod/pod.h"
#include "tenon/kubelet/pods.h"

namespace tenon::kubelet {

/// Keeps the pods of a directory of manifests running: those of a file that came are made, those of
/// one that went are deleted, those of one that changed are deleted and made anew. A pod that was
/// refused is made again at the next look, since there is nobody else to do it.
///
/// A static pod is called as in its file with the kube node's name behind, as the kubelet does. A
/// file with mistakes is logged, once for each of its contents, and its pods stay as they were.
/// Whoever writes a manifest is root in effect, so a file or a directory that others than root or
/// we may write to is not read. Thread: loop only.
class StaticPods final {
 public:
  struct Options {
    std::string directory;
    std::string node_name;
    base::Duration interval = std::chrono::seconds(5);
  };

  /// `machine` has the directory. Everything must outlive it.
  StaticPods(loop::EventLoop& loop, base::Log& log, host::Host& machine, Pods& pods,
             Options options);
  StaticPods(const StaticPods&) = delete;
  StaticPods& operator=(const StaticPods&) = delete;

  /// Looks now and from then on. Requires: Pods::Load() has been called.
  void Start() { Look(); }

 private:
  using Key = Pods::Key;
  struct File {
    std::string text;  ///< As it was read last.
    std::vector<pod::Pod> pods;
  };

  void Look();
  void ReadDirectory();
  void ReadFile(const std::string& path);
  Result<std::string> ReadTrusted(const std::string& path);
  void Complain(const std::string& path, const std::string& why);
  pod::Pod Finish(pod::Pod pod, const std::string& path) const;
  void DeleteStale(const std::map<Key, const pod::Pod*>& wanted);

  loop::EventLoop& loop_;
  base::Log& log_;
  host::Host& machine_;
  Pods& pods_;
  const Options options_;
  std::map<std::string, File> files_;
  std::map<std::string, std::string> complaints_;  ///< Path → what was logged of it last.
  std::set<Key> deleting_;
  loop::TimerHandle look_;
  /// Expires with this object: a deletion may end later.
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace tenon::kubelet
