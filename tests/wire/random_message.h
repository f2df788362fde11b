#pragma once

#include <google/protobuf/message.h>

#include <random>
#include <string>

namespace tenon::wire {

using Random = std::mt19937_64;

/// A number below `bound`.
size_t Below(Random& random, size_t bound);

/// Gives every field of `message`, at every depth, a random value or none: odd text, the ends of
/// the integer ranges, empty submessages, repeated map keys.
void FillRandomly(google::protobuf::Message& message, Random& random);

/// `bytes` with some damage: bits, bytes and runs of bytes changed, added, taken out and repeated.
std::string Damaged(std::string bytes, Random& random);

}  // namespace tenon::wire
