#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/resource_name.h"

namespace tenon::plugin {

/// A short text that no other process has, on any PID namespace: seven random characters [0-9a-z].
Result<std::string> NewProcessToken();

/// The file name of a plugin's socket, "tenon-1a2b3c4d-k3j9x2q.sock": the hash of the resource,
/// by which a later start finds it, and the token, by which two processes that offer one resource
/// side by side never touch each other's. 32 bytes, to leave room for long directories: a unix
/// socket's path has at most 107.
std::string SocketName(const ResourceName& resource, std::string_view process_token);

/// Removes the sockets of this resource that killed processes left in `directory`, told by that
/// nobody listens on them. A living one is never touched. Returns: the names removed.
std::vector<std::string> RemoveStaleSockets(const std::string& directory,
                                            const ResourceName& resource);

/// Whether a process like this one serves a socket of this resource in `directory`.
bool IsServed(const std::string& directory, const ResourceName& resource);

}  // namespace tenon::plugin
