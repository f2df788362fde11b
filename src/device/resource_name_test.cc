#include "device/resource_name.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(ResourceName, AcceptsWhatTheKubeletAccepts) {
  for (std::string text : {std::string("vendor.com/gpu"), std::string("localhost/gpu"),
                           std::string("vendor.com/GPU_a.b-c"), std::string("1.2/3"),
                           std::string(244, 'a') + "/x", "v.com/" + std::string(63, 'n')})
    EXPECT_TRUE(ResourceName::Parse(text)) << text;
}

TEST(ResourceName, RefusesWhatTheKubeletRefuses) {
  for (std::string text :
       {std::string("gpu"), std::string("Vendor.com/gpu"), std::string("vendor_x.com/gpu"),
        std::string("vendor.com/"), std::string("/gpu"), std::string("a/b/c"),
        std::string("vendor.com/-gpu"), std::string("vendor.com/gpu-"),
        std::string("vendor.com./gpu"), std::string("hugepages-2Mi"),
        std::string("deviceclass.resource.kubernetes.io/foo"), std::string("kubernetes.io/gpu"),
        std::string("notkubernetes.io/gpu"), std::string("requests.vendor.com/gpu"),
        std::string(""), std::string(245, 'a') + "/x", "v.com/" + std::string(64, 'n')})
    EXPECT_FALSE(ResourceName::Parse(text)) << text;
}

TEST(ResourceName, SaysWhichRuleIsBroken) {
  EXPECT_EQ("resource name \"serial\": needs a domain in front, as in example.com/serial",
            ResourceName::Parse("serial").error().message());
}

TEST(ResourceName, TakesApartDomainAndName) {
  auto name = ResourceName::Parse("example.com/serial");
  EXPECT_EQ("example.com", name->domain());
  EXPECT_EQ("serial", name->name());
}

}  // namespace
}  // namespace tenon
