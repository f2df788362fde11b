#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/plugin_api.h"

/// Bytes of the device plugin API v1beta1 and back. Encoding is deterministic: map entries in key
/// order, fields in number order, defaults left out. Decoding takes what proto3 takes (unknown
/// fields skipped, last scalar wins, fields in any order) and refuses broken bytes and text that
/// is not UTF-8 with kInvalidArgument, naming message and field.
/// Source of field numbers: deviceplugin/v1beta1 api.proto; proto/ has our own text.
namespace tenon::wire {

inline constexpr std::string_view kRegister = "/v1beta1.Registration/Register";
inline constexpr std::string_view kGetDevicePluginOptions =
    "/v1beta1.DevicePlugin/GetDevicePluginOptions";
inline constexpr std::string_view kListAndWatch = "/v1beta1.DevicePlugin/ListAndWatch";
inline constexpr std::string_view kGetPreferredAllocation =
    "/v1beta1.DevicePlugin/GetPreferredAllocation";
inline constexpr std::string_view kAllocate = "/v1beta1.DevicePlugin/Allocate";
inline constexpr std::string_view kPreStartContainer = "/v1beta1.DevicePlugin/PreStartContainer";

/// Source: pluginregistration/v1 api.proto, whose package has no version.
inline constexpr std::string_view kGetInfo = "/pluginregistration.Registration/GetInfo";
inline constexpr std::string_view kNotifyRegistrationStatus =
    "/pluginregistration.Registration/NotifyRegistrationStatus";

std::string EncodePluginInfo(const api::PluginInfo& info);
Result<api::PluginInfo> DecodePluginInfo(std::string_view bytes);
std::string EncodeRegistrationStatus(const api::RegistrationStatus& status);
Result<api::RegistrationStatus> DecodeRegistrationStatus(std::string_view bytes);

std::string EncodeRegisterRequest(const api::RegisterRequest& request);
Result<api::RegisterRequest> DecodeRegisterRequest(std::string_view bytes);

std::string EncodePluginOptions(const api::PluginOptions& options);
Result<api::PluginOptions> DecodePluginOptions(std::string_view bytes);

/// Encodes a whole list; `devices` as the plugin side holds them.
std::string EncodeDeviceList(const std::vector<Device>& devices);
/// The size that EncodeDeviceList would give, without encoding.
size_t DeviceListSize(const std::vector<Device>& devices);
Result<std::vector<api::ListedDevice>> DecodeDeviceList(std::string_view bytes);

/// One AllocateRequest per container.
std::string EncodeAllocateRequest(const std::vector<api::AllocateRequest>& containers);
Result<std::vector<api::AllocateRequest>> DecodeAllocateRequest(std::string_view bytes);

/// One container's response; also what the kubelet's checkpoint keeps as AllocResp.
std::string EncodeContainerAllocation(const ContainerAllocation& allocation);
Result<ContainerAllocation> DecodeContainerAllocation(std::string_view bytes);

std::string EncodeAllocateResponse(const std::vector<ContainerAllocation>& containers);
/// The encoded container responses as they stand in the message: the manager keeps these bytes
/// for the checkpoint and decodes them once. Each is checked by DecodeContainerAllocation.
Result<std::vector<std::string>> SplitAllocateResponse(std::string_view bytes);

std::string EncodePreferredRequest(const std::vector<api::PreferredRequest>& containers);
Result<std::vector<api::PreferredRequest>> DecodePreferredRequest(std::string_view bytes);
/// One list of ids per container.
std::string EncodePreferredResponse(const std::vector<std::vector<std::string>>& containers);
Result<std::vector<std::vector<std::string>>> DecodePreferredResponse(std::string_view bytes);

std::string EncodePreStartRequest(const std::vector<std::string>& device_ids);
Result<std::vector<std::string>> DecodePreStartRequest(std::string_view bytes);
/// The response has no fields; what is no message is an error all the same.
Result<void> CheckPreStartResponse(std::string_view bytes);

}  // namespace tenon::wire
