#include "wire/messages.h"

#include "wire/reader.h"
#include "wire/writer.h"

namespace tenon::wire {
namespace {

void ReadPluginOptions(Reader& in, api::PluginOptions& options) {
  while (in.Next()) {
    if (in.number() == 1) in.ReadBool(options.pre_start_required);
    if (in.number() == 2) in.ReadBool(options.preferred_allocation_available);
  }
}

void ReadRegisterRequest(Reader& in, api::RegisterRequest& request) {
  while (in.Next()) {
    switch (in.number()) {
      case 1:
        in.ReadText("version", request.version);
        break;
      case 2:
        in.ReadText("endpoint", request.endpoint);
        break;
      case 3:
        in.ReadText("resource_name", request.resource_name);
        break;
      case 4:
        in.ReadMessage("DevicePluginOptions",
                       [&](Reader& nested) { ReadPluginOptions(nested, request.options); });
        break;
      default:
        break;
    }
  }
}

void ReadPluginInfo(Reader& in, api::PluginInfo& info) {
  while (in.Next()) {
    switch (in.number()) {
      case 1:
        in.ReadText("type", info.type);
        break;
      case 2:
        in.ReadText("name", info.name);
        break;
      case 3:
        in.ReadText("endpoint", info.endpoint);
        break;
      case 4:
        in.AppendText("supported_versions", info.supported_versions);
        break;
      default:
        break;
    }
  }
}

void ReadRegistrationStatus(Reader& in, api::RegistrationStatus& status) {
  while (in.Next()) {
    if (in.number() == 1) in.ReadBool(status.registered);
    if (in.number() == 2) in.ReadText("error", status.error);
  }
}

/// The whole of ContainerAllocateRequest and of PreStartContainerRequest.
void ReadDeviceIds(Reader& in, std::vector<std::string>& ids) {
  while (in.Next())
    if (in.number() == 1) in.AppendText("devices_ids", ids);
}

void ReadAllocateRequest(Reader& in, std::vector<api::AllocateRequest>& containers) {
  while (in.Next()) {
    if (in.number() != 1) continue;
    in.ReadMessage("ContainerAllocateRequest", [&](Reader& nested) {
      ReadDeviceIds(nested, containers.emplace_back().device_ids);
    });
  }
}

void ReadContainerPreferredRequest(Reader& in, api::PreferredRequest& container) {
  while (in.Next()) {
    switch (in.number()) {
      case 1:
        in.AppendText("available_deviceIDs", container.available);
        break;
      case 2:
        in.AppendText("must_include_deviceIDs", container.must_include);
        break;
      case 3:
        in.ReadInt32(container.size);
        break;
      default:
        break;
    }
  }
}

void ReadPreferredRequest(Reader& in, std::vector<api::PreferredRequest>& containers) {
  while (in.Next()) {
    if (in.number() != 1) continue;
    in.ReadMessage("ContainerPreferredAllocationRequest", [&](Reader& nested) {
      ReadContainerPreferredRequest(nested, containers.emplace_back());
    });
  }
}

void ReadContainerPreferredResponse(Reader& in, std::vector<std::string>& ids) {
  while (in.Next())
    if (in.number() == 1) in.AppendText("deviceIDs", ids);
}

void ReadPreferredResponse(Reader& in, std::vector<std::vector<std::string>>& containers) {
  while (in.Next()) {
    if (in.number() != 1) continue;
    in.ReadMessage("ContainerPreferredAllocationResponse", [&](Reader& nested) {
      ReadContainerPreferredResponse(nested, containers.emplace_back());
    });
  }
}

std::string EncodeDeviceIds(const std::vector<std::string>& ids) {
  std::string out;
  AddTexts(out, 1, ids);
  return out;
}

}  // namespace

std::string EncodePluginOptions(const api::PluginOptions& options) {
  std::string out;
  PutBool(out, 1, options.pre_start_required);
  PutBool(out, 2, options.preferred_allocation_available);
  return out;
}

Result<api::PluginOptions> DecodePluginOptions(std::string_view bytes) {
  return Decode(bytes, "DevicePluginOptions", ReadPluginOptions);
}

std::string EncodeRegisterRequest(const api::RegisterRequest& request) {
  std::string out;
  PutText(out, 1, request.version);
  PutText(out, 2, request.endpoint);
  PutText(out, 3, request.resource_name);
  PutText(out, 4, EncodePluginOptions(request.options));
  return out;
}

Result<api::RegisterRequest> DecodeRegisterRequest(std::string_view bytes) {
  return Decode(bytes, "RegisterRequest", ReadRegisterRequest);
}

std::string EncodePluginInfo(const api::PluginInfo& info) {
  std::string out;
  PutText(out, 1, info.type);
  PutText(out, 2, info.name);
  PutText(out, 3, info.endpoint);
  AddTexts(out, 4, info.supported_versions);
  return out;
}

Result<api::PluginInfo> DecodePluginInfo(std::string_view bytes) {
  return Decode(bytes, "PluginInfo", ReadPluginInfo);
}

std::string EncodeRegistrationStatus(const api::RegistrationStatus& status) {
  std::string out;
  PutBool(out, 1, status.registered);
  PutText(out, 2, status.error);
  return out;
}

Result<api::RegistrationStatus> DecodeRegistrationStatus(std::string_view bytes) {
  return Decode(bytes, "RegistrationStatus", ReadRegistrationStatus);
}

std::string EncodeAllocateRequest(const std::vector<api::AllocateRequest>& containers) {
  std::string out;
  for (const api::AllocateRequest& container : containers)
    AddBytes(out, 1, EncodeDeviceIds(container.device_ids));
  return out;
}

Result<std::vector<api::AllocateRequest>> DecodeAllocateRequest(std::string_view bytes) {
  return Decode(bytes, "AllocateRequest", ReadAllocateRequest);
}

std::string EncodePreferredRequest(const std::vector<api::PreferredRequest>& containers) {
  std::string out;
  for (const api::PreferredRequest& container : containers) {
    std::string nested;
    AddTexts(nested, 1, container.available);
    AddTexts(nested, 2, container.must_include);
    PutInt(nested, 3, container.size);
    AddBytes(out, 1, nested);
  }
  return out;
}

Result<std::vector<api::PreferredRequest>> DecodePreferredRequest(std::string_view bytes) {
  return Decode(bytes, "PreferredAllocationRequest", ReadPreferredRequest);
}

std::string EncodePreferredResponse(const std::vector<std::vector<std::string>>& containers) {
  std::string out;
  for (const std::vector<std::string>& ids : containers)
    AddBytes(out, 1, EncodeDeviceIds(ids));
  return out;
}

Result<std::vector<std::vector<std::string>>> DecodePreferredResponse(std::string_view bytes) {
  return Decode(bytes, "PreferredAllocationResponse", ReadPreferredResponse);
}

std::string EncodePreStartRequest(const std::vector<std::string>& device_ids) {
  return EncodeDeviceIds(device_ids);
}

Result<std::vector<std::string>> DecodePreStartRequest(std::string_view bytes) {
  return Decode(bytes, "PreStartContainerRequest", ReadDeviceIds);
}

Result<void> CheckPreStartResponse(std::string_view bytes) {
  Reader reader(bytes, "PreStartContainerResponse");
  while (reader.Next())
    continue;
  if (reader.error()) return *reader.error();
  return {};
}

}  // namespace tenon::wire
