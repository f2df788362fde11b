#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

namespace tenon::rpc {

/// Messages as plain bytes, so that neither end needs a schema.
inline grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return {&slice, 1};
}

inline std::string ToBytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

}  // namespace tenon::rpc
