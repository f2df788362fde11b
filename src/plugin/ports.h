#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

/// What Registration needs from the world; plugin_service and PluginDirectory provide it.
namespace tenon::plugin {

/// What is to be seen of the device-plugin directory. Each file that takes the place of another
/// gets another number, even where the file system reuses the inode.
struct DirectoryView {
  uint64_t directory = 0;       ///< 0: not there or not readable, see trouble.
  uint64_t kubelet_socket = 0;  ///< 0: no kubelet.sock.
  std::string trouble;          ///< Why directory is 0: "stat /x: No such file or directory".
  bool operator==(const DirectoryView&) const = default;
};

class KubeletDirectory {
 public:
  KubeletDirectory() = default;
  KubeletDirectory(const KubeletDirectory&) = delete;
  KubeletDirectory& operator=(const KubeletDirectory&) = delete;
  virtual ~KubeletDirectory() = default;

  /// Looks afresh; a few system calls.
  virtual DirectoryView Look() = 0;
};

/// The socket on which the kubelet calls the plugin back.
class PluginSocket {
 public:
  PluginSocket() = default;
  PluginSocket(const PluginSocket&) = delete;
  PluginSocket& operator=(const PluginSocket&) = delete;
  virtual ~PluginSocket() = default;

  /// Makes the socket and serves on it, in place of one that was served before. Errors name the
  /// path.
  virtual Result<void> Serve() = 0;
  /// Ends all streams and calls and removes the socket if it still is ours. Harmless if stopped.
  virtual void Stop() = 0;
  /// Whether the file in the directory is the one that is served; false when stopped.
  virtual bool IsOurs() const = 0;
  /// Ends the open ListAndWatch streams; nobody is told of their end.
  virtual void EndStreams() = 0;
};

/// Owns one Register call; destroying it gives the call up, and then nothing is reported.
class RegisterCall {
 public:
  RegisterCall() = default;
  RegisterCall(const RegisterCall&) = delete;
  RegisterCall& operator=(const RegisterCall&) = delete;
  virtual ~RegisterCall() = default;
};

class KubeletClient {
 public:
  using Done = std::function<void(Result<void>)>;

  KubeletClient() = default;
  KubeletClient(const KubeletClient&) = delete;
  KubeletClient& operator=(const KubeletClient&) = delete;
  virtual ~KubeletClient() = default;

  /// Registers the plugin over kubelet.sock. `done` runs exactly once, in a later turn; the call
  /// may be destroyed in it. The kubelet dials the plugin's socket meanwhile.
  [[nodiscard]] virtual std::unique_ptr<RegisterCall> Register(Done done) = 0;
};

}  // namespace tenon::plugin
