// src/wire against libprotobuf: both must accept the same bytes, read the same values from them,
// and write the same bytes for the same values.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "deviceplugin/v1beta1/api.pb.h"
#include "kept.pb.h"
#include "pluginregistration/v1/api.pb.h"
#include "podresources/v1/api.pb.h"
#include "random_message.h"
#include "wire/messages.h"
#include "wire/pod_resources.h"

namespace tenon::wire {
namespace {

using google::protobuf::Message;

/// libprotobuf's bytes with map entries in key order, as ours are.
std::string Bytes(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

// A codec below says how one of our messages corresponds to libprotobuf's. ToMessage(Decode(b))
// must be what libprotobuf reads from b, less what Forget() takes away; Encode(Decode(b)) must be
// the bytes of that, less what ForgetUnwritten() takes away.

struct Codec {
  static void Forget(const Message&) {}
  static void ForgetUnwritten(const Message&) {}
};

struct OptionsCodec : Codec {
  using Message = v1beta1::DevicePluginOptions;
  static constexpr auto Decode = DecodePluginOptions;
  static constexpr auto Encode = EncodePluginOptions;
  static Message ToMessage(const api::PluginOptions& options) {
    Message message;
    message.set_pre_start_required(options.pre_start_required);
    message.set_get_preferred_allocation_available(options.preferred_allocation_available);
    return message;
  }
};

struct RegisterCodec : Codec {
  using Message = v1beta1::RegisterRequest;
  static constexpr auto Decode = DecodeRegisterRequest;
  static constexpr auto Encode = EncodeRegisterRequest;
  static Message ToMessage(const api::RegisterRequest& request) {
    Message message;
    message.set_version(request.version);
    message.set_endpoint(request.endpoint);
    message.set_resource_name(request.resource_name);
    if (request.options != api::PluginOptions())
      *message.mutable_options() = OptionsCodec::ToMessage(request.options);
    return message;
  }
  static void Forget(Message& message) {
    if (message.options().ByteSizeLong() == 0) message.clear_options();
  }
};

struct PluginInfoCodec : Codec {
  using Message = pluginregistration::PluginInfo;
  static constexpr auto Decode = DecodePluginInfo;
  static constexpr auto Encode = EncodePluginInfo;
  static Message ToMessage(const api::PluginInfo& info) {
    Message message;
    message.set_type(info.type);
    message.set_name(info.name);
    message.set_endpoint(info.endpoint);
    for (const std::string& version : info.supported_versions)
      message.add_supported_versions(version);
    return message;
  }
};

struct RegistrationStatusCodec : Codec {
  using Message = pluginregistration::RegistrationStatus;
  static constexpr auto Decode = DecodeRegistrationStatus;
  static constexpr auto Encode = EncodeRegistrationStatus;
  static Message ToMessage(const api::RegistrationStatus& status) {
    Message message;
    message.set_plugin_registered(status.registered);
    message.set_error(status.error);
    return message;
  }
};

struct DeviceListCodec : Codec {
  using Message = v1beta1::ListAndWatchResponse;
  static constexpr auto Decode = DecodeDeviceList;
  static std::string Encode(const std::vector<api::ListedDevice>& listed) {
    std::vector<Device> devices;
    for (const api::ListedDevice& from : listed) {
      Device& device = devices.emplace_back();
      device.id.value = from.id;
      device.health = from.health == api::kHealthy ? Health::kHealthy : Health::kUnhealthy;
      for (int64_t numa_node : from.numa_nodes)
        device.numa_nodes.push_back(static_cast<int>(numa_node));
    }
    std::string bytes = EncodeDeviceList(devices);
    EXPECT_EQ(bytes.size(), DeviceListSize(devices));
    return bytes;
  }
  static Message ToMessage(const std::vector<api::ListedDevice>& listed) {
    Message message;
    for (const api::ListedDevice& from : listed) {
      v1beta1::Device& device = *message.add_devices();
      device.set_id(from.id);
      device.set_health(from.health);
      if (from.has_topology) device.mutable_topology();
      for (int64_t numa_node : from.numa_nodes)
        device.mutable_topology()->add_nodes()->set_id(numa_node);
    }
    return message;
  }
  static void ForgetUnwritten(Message& message) {
    for (v1beta1::Device& device : *message.mutable_devices()) {
      if (device.health() != api::kHealthy) device.set_health(std::string(api::kUnhealthy));
      if (device.topology().nodes().empty()) device.clear_topology();
      for (int i = 0; i < device.topology().nodes_size(); ++i) {
        v1beta1::NUMANode& numa_node = *device.mutable_topology()->mutable_nodes(i);
        numa_node.set_id(static_cast<int>(numa_node.id()));
      }
    }
  }
};

struct AllocateRequestCodec : Codec {
  using Message = v1beta1::AllocateRequest;
  static constexpr auto Decode = DecodeAllocateRequest;
  static constexpr auto Encode = EncodeAllocateRequest;
  static Message ToMessage(const std::vector<api::AllocateRequest>& containers) {
    Message message;
    for (const api::AllocateRequest& container : containers) {
      auto& request = *message.add_container_requests();
      for (const std::string& id : container.device_ids)
        request.add_devices_ids(id);
    }
    return message;
  }
};

struct ContainerAllocationCodec : Codec {
  using Message = v1beta1::ContainerAllocateResponse;
  static constexpr auto Decode = DecodeContainerAllocation;
  static constexpr auto Encode = EncodeContainerAllocation;
  static Message ToMessage(const ContainerAllocation& allocation) {
    Message message;
    message.mutable_envs()->insert(allocation.env.begin(), allocation.env.end());
    message.mutable_annotations()->insert(allocation.annotations.begin(),
                                          allocation.annotations.end());
    for (const Mount& from : allocation.mounts) {
      v1beta1::Mount& mount = *message.add_mounts();
      mount.set_container_path(from.container_path);
      mount.set_host_path(from.host_path);
      mount.set_read_only(from.read_only);
    }
    for (const DeviceNode& from : allocation.device_nodes) {
      v1beta1::DeviceSpec& spec = *message.add_devices();
      spec.set_container_path(from.container_path);
      spec.set_host_path(from.host_path);
      spec.set_permissions(from.permissions);
    }
    for (const std::string& name : allocation.cdi_devices)
      message.add_cdi_devices()->set_name(name);
    return message;
  }
};

struct AllocateResponseCodec : Codec {
  using Message = v1beta1::AllocateResponse;
  static Result<std::vector<ContainerAllocation>> Decode(std::string_view bytes) {
    TENON_TRY(std::vector<std::string> parts, SplitAllocateResponse(bytes));
    std::vector<ContainerAllocation> containers;
    for (const std::string& part : parts) {
      TENON_TRY(ContainerAllocation container, DecodeContainerAllocation(part));
      containers.push_back(std::move(container));
    }
    return containers;
  }
  static constexpr auto Encode = EncodeAllocateResponse;
  static Message ToMessage(const std::vector<ContainerAllocation>& containers) {
    Message message;
    for (const ContainerAllocation& container : containers)
      *message.add_container_responses() = ContainerAllocationCodec::ToMessage(container);
    return message;
  }
};

struct PreferredRequestCodec : Codec {
  using Message = v1beta1::PreferredAllocationRequest;
  static constexpr auto Decode = DecodePreferredRequest;
  static constexpr auto Encode = EncodePreferredRequest;
  static Message ToMessage(const std::vector<api::PreferredRequest>& containers) {
    Message message;
    for (const api::PreferredRequest& container : containers) {
      auto& request = *message.add_container_requests();
      for (const std::string& id : container.available)
        request.add_available_deviceids(id);
      for (const std::string& id : container.must_include)
        request.add_must_include_deviceids(id);
      request.set_allocation_size(container.size);
    }
    return message;
  }
};

struct PreferredResponseCodec : Codec {
  using Message = v1beta1::PreferredAllocationResponse;
  static constexpr auto Decode = DecodePreferredResponse;
  static constexpr auto Encode = EncodePreferredResponse;
  static Message ToMessage(const std::vector<std::vector<std::string>>& containers) {
    Message message;
    for (const std::vector<std::string>& ids : containers) {
      auto& response = *message.add_container_responses();
      for (const std::string& id : ids)
        response.add_deviceids(id);
    }
    return message;
  }
};

struct PreStartCodec : Codec {
  using Message = v1beta1::PreStartContainerRequest;
  static constexpr auto Decode = DecodePreStartRequest;
  static constexpr auto Encode = EncodePreStartRequest;
  static Message ToMessage(const std::vector<std::string>& ids) {
    Message message;
    for (const std::string& id : ids)
      message.add_devices_ids(id);
    return message;
  }
};

struct PodResourcesCodec : Codec {
  using Message = tenon_kept::ListPodResourcesResponse;
  static constexpr auto Decode = DecodePodResources;
  static constexpr auto Encode = EncodePodResources;
  static Message ToMessage(const std::vector<PodResources>& pods) {
    Message message;
    for (const PodResources& from_pod : pods) {
      tenon_kept::PodResources& pod = *message.add_pod_resources();
      pod.set_name(from_pod.name);
      pod.set_namespace_(from_pod.namespace_name);
      for (const ContainerResources& from_container : from_pod.containers) {
        tenon_kept::ContainerResources& container = *pod.add_containers();
        container.set_name(from_container.name);
        for (const ContainerDevices& from : from_container.devices)
          AddDevices(container, from);
      }
    }
    return message;
  }
  static void AddDevices(tenon_kept::ContainerResources& container, const ContainerDevices& from) {
    tenon_kept::ContainerDevices& devices = *container.add_devices();
    devices.set_resource_name(from.resource_name);
    for (const std::string& id : from.device_ids)
      devices.add_device_ids(id);
    for (int64_t numa_node : from.numa_nodes)
      devices.mutable_topology()->add_nodes()->set_id(numa_node);
  }
  static void Forget(Message& message) {
    for (auto& pod : *message.mutable_pod_resources())
      for (auto& container : *pod.mutable_containers())
        for (auto& devices : *container.mutable_devices())
          if (devices.topology().nodes().empty()) devices.clear_topology();
  }
};

template <class Codec>
class OracleTest : public ::testing::Test {
 protected:
  OracleTest() {
    google::protobuf::SetLogHandler(nullptr);  // It reports each text that is not UTF-8.
    const char* given = std::getenv("TENON_SEED");
    std::random_device device;
    const uint64_t seed =
        given != nullptr ? std::stoull(given) : uint64_t{device()} << 32 | device();
    random_.seed(seed);
    std::printf("TENON_SEED=%llu\n", static_cast<unsigned long long>(seed));
  }

  typename Codec::Message RandomMessage() {
    typename Codec::Message message;
    FillRandomly(message, random_);
    return message;
  }

  /// Whether both sides accept `bytes`; if so they must agree on everything.
  bool Agree(const std::string& bytes) {
    typename Codec::Message theirs;
    const bool accepted = theirs.ParseFromString(bytes);
    auto ours = Codec::Decode(bytes);
    EXPECT_EQ(ours.has_value(), accepted)
        << ::testing::PrintToString(bytes) << (ours ? "" : ours.error().message());
    if (!ours || !accepted) return false;

    theirs.DiscardUnknownFields();
    Codec::Forget(theirs);
    EXPECT_EQ(Bytes(Codec::ToMessage(*ours)), Bytes(theirs)) << ::testing::PrintToString(bytes);
    Codec::ForgetUnwritten(theirs);
    EXPECT_EQ(Codec::Encode(*ours), Bytes(theirs)) << ::testing::PrintToString(bytes);
    return true;
  }

  static int Count() { return std::getenv("TENON_LONG") != nullptr ? 1'000'000 : 10'000; }

  Random random_;
};

using Codecs =
    ::testing::Types<OptionsCodec, RegisterCodec, PluginInfoCodec, RegistrationStatusCodec,
                     DeviceListCodec, AllocateRequestCodec, ContainerAllocationCodec,
                     AllocateResponseCodec, PreferredRequestCodec, PreferredResponseCodec,
                     PreStartCodec, PodResourcesCodec>;
TYPED_TEST_SUITE(OracleTest, Codecs);

TYPED_TEST(OracleTest, RandomMessagesGoBothWays) {
  for (int i = 0; i < this->Count() && !this->HasFailure(); ++i) {
    const auto message = this->RandomMessage();
    EXPECT_TRUE(this->Agree(message.SerializeAsString()));
    EXPECT_TRUE(this->Agree(Bytes(message)));
  }
}

TYPED_TEST(OracleTest, DamagedBytesAreAcceptedByBothOrByNeither) {
  int accepted = 0;
  for (int i = 0; i < this->Count() && !this->HasFailure(); ++i)
    accepted += this->Agree(Damaged(this->RandomMessage().SerializeAsString(), this->random_));

  EXPECT_GT(accepted, this->Count() / 50);
  EXPECT_LT(accepted, this->Count());
}

using PodResourcesOracleTest = OracleTest<PodResourcesCodec>;

TEST_F(PodResourcesOracleTest, CpusMemoryAndClaimsAreSkipped) {
  for (int i = 0; i < Count() && !HasFailure(); ++i) {
    v1::ListPodResourcesResponse whole;
    FillRandomly(whole, random_);
    EXPECT_TRUE(Agree(whole.SerializeAsString()));
  }
}

}  // namespace
}  // namespace tenon::wire
