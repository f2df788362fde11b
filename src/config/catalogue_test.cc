// The catalogue of configuration faults: one text in, exactly these errors out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/config.h"

namespace tenon::config {
namespace {

struct Fault {
  std::string_view name;
  std::string text;
  std::vector<std::string> errors;
};

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.text;
}

/// A configuration around one rule; the rule begins at 5:7.
std::string Rule(const std::string& rule) {
  return "domain: d.com\nresources:\n- name: r\n  devices:\n    - " + rule + "\n";
}

/// A configuration around the name of its only resource, which begins at 3:9.
std::string Named(const std::string& name) {
  return "domain: d.com\nresources:\n- name: " + name + "\n  devices: [{virtual: {count: 1}}]\n";
}

class ConfigCatalogue : public ::testing::TestWithParam<Fault> {};

TEST_P(ConfigCatalogue, IsRefusedWithItsPlaceAndTheWayOut) {
  ConfigOutcome outcome = Load(GetParam().text, "f", {{"/run/dev"}});
  EXPECT_FALSE(outcome.config);
  EXPECT_EQ(GetParam().errors, outcome.errors);
}

const auto kName = [](const auto& test) { return std::string(test.param.name); };

INSTANTIATE_TEST_SUITE_P(
    File, ConfigCatalogue,
    ::testing::Values(
        Fault{"Empty",
              "# nothing\n",
              {"f:1:1: empty; begin it with \"domain: example.com\" and \"resources:\""}},
        Fault{"Text",
              "serial\n",
              {"f:1:1: a mapping is expected, this is text; write for example \"domain: "
               "example.com\""}},
        Fault{"List",
              "- path: /dev/fuse\n",
              {"f:1:1: a mapping is expected, this is a list; write for example \"domain: "
               "example.com\""}},
        Fault{"EmptyMapping",
              "{}\n",
              {"f:1:1: \"domain\" is missing; add \"domain:\" and a DNS name that you own, it goes "
               "in front of all resource names",
               "f:1:1: \"resources\" is missing; add \"resources:\" and below it each resource, "
               "beginning with \"- name:\""}},
        Fault{"TwoDocuments",
              Named("a") + "---\n" + Named("b"),
              {"f:6:1: a second document; remove the \"---\" above it, all resources stand in one "
               "list"}},
        Fault{"DuplicateKey",
              "domain: a.com\n" + Named("r"),
              {"f:2:1: key \"domain\" occurs twice; keep one of them"}},
        Fault{"NoDomain",
              "resources: [{name: r, devices: [{path: /dev/fuse}]}]\n",
              {"f:1:1: \"domain\" is missing; add \"domain:\" and a DNS name that you own, it goes "
               "in front of all resource names"}},
        Fault{"NoResources",
              "domain: d.com\n",
              {"f:1:1: \"resources\" is missing; add \"resources:\" and below it each resource, "
               "beginning with \"- name:\""}},
        Fault{"ResourcesWithoutValue",
              "domain: d.com\nresources:\n",
              {"f:2:1: \"resources\" must be a list with at least one item, this is nothing; begin "
               "each item with \"- \""}},
        Fault{"ResourceIsText",
              "domain: d.com\nresources: [serial]\n",
              {"f:2:13: a mapping is expected, this is text; write for example \"name: serial\""}},
        Fault{"TooDeep",
              Rule(std::string(20, '[') + std::string(20, ']')),
              {"f:5:19: nested deeper than 16 levels"}},
        Fault{"Tab",
              "domain: d.com\nresources:\n\t- name: r\n",
              {"f:3:1: tab in the indentation; use spaces"}}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Names, ConfigCatalogue,
    ::testing::Values(
        Fault{"DomainIsAList",
              "domain: [d.com]\n" + Named("r").substr(14),
              {"f:1:9: \"domain\" must be text, this is a list; write domain: and the text on one "
               "line"}},
        Fault{"DomainIsEmpty",
              "domain: ''\n" + Named("r").substr(14),
              {"f:1:9: domain \"\": no DNS name; write lower-case letters, digits and \"-\" in "
               "labels joined by \".\", as in example.com"}},
        Fault{"DomainOfKubernetes",
              "domain: kubernetes.io\n" + Named("r").substr(14),
              {"f:1:9: domain \"kubernetes.io\": reserved by Kubernetes; write a DNS name that you "
               "own"}},
        Fault{"DomainWithSlash",
              "domain: d.com/\n" + Named("r").substr(14),
              {"f:1:9: domain \"d.com/\": no DNS name; write lower-case letters, digits and \"-\" "
               "in labels joined by \".\", as in example.com"}},
        Fault{"NoName",
              "domain: d.com\nresources:\n- devices: [{path: /dev/fuse}]\n",
              {"f:3:3: \"name\" is missing; add \"name: serial\" or the like"}},
        Fault{"NameWithoutValue",
              Named(""),
              {"f:3:3: \"name\" must be text, this is nothing; write name: and the text on one "
               "line"}},
        Fault{"NameWithSpace",
              Named("a b"),
              {"f:3:9: resource name \"d.com/a b\": the part after \"/\" must be letters, digits, "
               "\"-\", \"_\" and \".\", and begin and end with a letter or digit"}},
        Fault{"NameEndsInDash",
              Named("a-"),
              {"f:3:9: resource name \"d.com/a-\": the part after \"/\" must be letters, digits, "
               "\"-\", \"_\" and \".\", and begin and end with a letter or digit"}},
        Fault{"NameTooLong",
              Named(std::string(64, 'a')),
              {"f:3:9: resource name "
               "\"d.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": the "
               "part after \"/\" must have 1 to 63 characters"}},
        Fault{"FullNameOfKubernetes",
              Named("kubernetes.io/x"),
              {"f:3:9: resource name \"kubernetes.io/x\": names in kubernetes.io/ belong to "
               "Kubernetes; use a domain of your own"}},
        Fault{"FullNameTwoSlashes",
              Named("d.com/a/b"),
              {"f:3:9: resource name \"d.com/a/b\": has more than one \"/\""}},
        Fault{"SameNameWrittenInFull",
              Named("r") + "- {name: d.com/r, devices: [{path: /dev/fuse}]}\n",
              {"f:5:10: resource d.com/r exists already, in line 3; put all its devices under one "
               "name"}},
        Fault{"NoDevices",
              "domain: d.com\nresources: [{name: r}]\n",
              {"f:2:13: \"devices\" is missing; add \"devices:\" and below it each rule, as in \"- "
               "path: /dev/fuse\""}},
        Fault{"DevicesIsAMapping",
              "domain: d.com\nresources: [{name: r, devices: {path: /x}}]\n",
              {"f:2:32: \"devices\" must be a list with at least one item, this is a mapping; "
               "begin each item with \"- \""}},
        Fault{"UnknownKeyOfAResource",
              Named("r\n  shares: 10"),
              {"f:4:3: unknown key \"shares\"; did you mean \"share\"? known here: name, devices, "
               "share, prefer, onAllocate, onRelease, preStart, health, openCheck, cdi"}},
        Fault{"OpenCheckOfAWatchdog",
              Named("r\n  openCheck: {subsystems: [tty, watchdog]}"),
              {"f:4:27: subsystem \"watchdog\" is not opened, as opening may do things there; "
               "write some of drm, hidraw, i2c-dev, infiniband_verbs, input, tty, usb, "
               "video4linux"}},
        Fault{"OpenCheckTooSeldom",
              Named("r\n  openCheck: {subsystems: [tty], every: 100000}"),
              {"f:4:41: every \"100000\"; write a number from 1 to 86400"}},
        Fault{"OpenCheckOfNothing",
              Named("r\n  openCheck: {every: 5}"),
              {"f:4:14: \"subsystems\" is missing; add \"subsystems: [video4linux]\""}},
        Fault{"OpenCheckThatIsAFlag",
              Named("r\n  openCheck: true"),
              {"f:4:14: a mapping is expected, this is true or false; write for example "
               "\"subsystems: [video4linux]\""}},
        Fault{"PreferenceOfAnotherKind",
              Named("r\n  prefer: random"),
              {"f:4:11: prefer \"random\"; write spread, packed or numa"}},
        Fault{"ShareOfNothing",
              Named("r\n  share: 0"),
              {"f:4:10: share \"0\"; write a number from 1 to 100000, without quotes"}},
        Fault{"ShareOfTooMany",
              "domain: d.com\nresources: [{name: r, share: 50001, devices: [{virtual: {count: "
              "2}}]}]\n",
              {"f:2:13: resource d.com/r has 100002 virtual devices; make it at most 100000 (a "
               "kubelet does not take a longer list)"}}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Paths, ConfigCatalogue,
    ::testing::Values(
        Fault{
            "RuleIsText",
            Rule("/dev/fuse"),
            {"f:5:7: a mapping is expected, this is text; write for example \"path: /dev/fuse\""}},
        Fault{
            "RuleWithoutSpace",
            Rule("path:/dev/fuse"),
            {"f:5:7: a mapping is expected, this is text; write for example \"path: /dev/fuse\""}},
        Fault{"NoSelector",
              Rule("permissions: rw"),
              {"f:5:7: this rule does not say which devices; add \"path: /dev/fuse\", \"usb: "
               "{vendor: ...}\", \"pci: {...}\", \"sysfs: {...}\" or \"virtual: {count: 4}\""}},
        Fault{
            "MisspelledSelector",
            Rule("paht: /dev/fuse"),
            {"f:5:7: unknown key \"paht\"; did you mean \"path\"? known here: path, usb, pci, "
             "sysfs, virtual, command, all, nodes, mountPath, permissions, type, readOnly, shared, "
             "unsafe"}},
        Fault{"CommandThatIsNotAllowed",
              Rule("{command: [/bin/x]}"),
              {"f:5:18: program \"/bin/x\": not allowed; start tenond with --allow-exec /bin"}},
        Fault{"PathIsAList",
              Rule("path: [/dev/fuse]"),
              {"f:5:13: \"path\" must be text, this is a list; write path: and the text on one "
               "line"}},
        Fault{"PathWithoutValue",
              Rule("path:"),
              {"f:5:7: \"path\" must be text, this is nothing; write path: and the text on one "
               "line"}},
        Fault{"PathIsEmpty",
              Rule("path: ''"),
              {"f:5:13: path \"\": empty; an absolute path is expected"}},
        Fault{"Relative",
              Rule("path: ttyS0"),
              {"f:5:13: path \"ttyS0\": not an absolute path; begin it with \"/\""}},
        Fault{"DotDot",
              Rule("path: /dev/../etc/shadow"),
              {"f:5:13: path \"/dev/../etc/shadow\": character 6: \"..\"; write the path without "
               "it"}},
        Fault{"TwoSlashes",
              Rule("path: /dev//fuse"),
              {"f:5:13: path \"/dev//fuse\": character 6: \"//\"; write a single \"/\""}},
        Fault{"SlashAtTheEnd",
              Rule("path: /dev/snd/"),
              {"f:5:13: path \"/dev/snd/\": character 9: a \"/\" at the end; leave it out"}},
        Fault{"DevItself",
              Rule("path: /dev"),
              {"f:5:13: path \"/dev\": a directory; name the device nodes in it, for example "
               "/dev/fuse"}},
        Fault{"OutsideDev",
              Rule("path: /etc/passwd"),
              {"f:5:13: path \"/etc/passwd\": not below /dev; start tenond with --allow-path "
               "/etc/passwd if rules may reach that far"}},
        Fault{"WildcardAtTheRoot",
              Rule("path: /*"),
              {"f:5:13: path \"/*\": a wildcard right below \"/\"; begin it with /dev/"}},
        Fault{"BesideWhatIsAllowed",
              Rule("path: /run/device/x"),
              {"f:5:13: path \"/run/device/x\": not below /dev; start tenond with --allow-path "
               "/run/device/x if rules may reach that far"}},
        Fault{"OpenBracket",
              Rule("path: /dev/[abc"),
              {"f:5:13: path \"/dev/[abc\": character 6: \"[\" is never closed; write \"\\[\" for "
               "the character itself"}},
        Fault{"TwoStars",
              Rule("path: /dev/**"),
              {"f:5:13: path \"/dev/**\": character 6: \"**\" is not supported; name each "
               "directory, \"*\" stands for one"}},
        Fault{"Brace",
              Rule("path: '/dev/tty{S,USB}0'"),
              {"f:5:13: path \"/dev/tty{S,USB}0\": character 9: \"{\" is not supported; write one "
               "rule for each, or \"\\{\" for the character itself"}},
        Fault{"UnsafeOfAllDev",
              Rule("{path: /dev/*, unsafe: true}"),
              {"f:5:14: path \"/dev/*\": too wide to be unsafe; name what is meant, or its "
               "directory"}},
        Fault{"UnsafeNotNamed",
              Rule("{path: /dev/mem, unsafe: true}"),
              {"f:5:14: path \"/dev/mem\": an unsafe rule must be allowed by name; start tenond "
               "with --allow-path /dev/mem"}},
        Fault{"Memory",
              Rule("path: /dev/mem"),
              {"f:5:13: path \"/dev/mem\": whoever holds it owns the machine; if that is meant, "
               "add \"unsafe: true\" and start tenond with --allow-path /dev/mem"}},
        Fault{"UnsafeIsText",
              Rule("{path: /dev/fuse, unsafe: 'true'}"),
              {"f:5:33: unsafe \"true\"; write true or false, without quotes"}},
        Fault{"UnsafeIsYes",
              Rule("{path: /dev/fuse, unsafe: yes}"),
              {"f:5:33: unsafe \"yes\"; write true or false, without quotes"}},
        Fault{"TwiceInOneResource",
              Rule("path: /dev/fuse\n    - path: /dev/fuse"),
              {"f:6:13: path \"/dev/fuse\" is offered already, in line 5; give each device node to "
               "one rule only, or let both say \"shared: true\""}},
        Fault{"TwiceInTwoResources",
              Rule("path: /dev/fuse") + "- {name: s, devices: [{path: '/dev/\\fuse'}]}\n",
              {"f:6:30: path \"/dev/\\\\fuse\" is offered already, in line 5; give each device "
               "node to one rule only, or let both say \"shared: true\""}},
        Fault{"PermissionsEmpty",
              Rule("{path: /dev/fuse, permissions: ''}"),
              {"f:5:38: permissions \"\"; write one or more of \"r\" (read), \"w\" (write) and "
               "\"m\" (mknod), each once"}},
        Fault{"PermissionsTwice",
              Rule("{path: /dev/fuse, permissions: rr}"),
              {"f:5:38: permissions \"rr\"; write one or more of \"r\" (read), \"w\" (write) and "
               "\"m\" (mknod), each once"}},
        Fault{"PermissionsAreANumber",
              Rule("{path: /dev/fuse, permissions: 0666}"),
              {"f:5:38: permissions \"0666\"; write one or more of \"r\" (read), \"w\" (write) and "
               "\"m\" (mknod), each once"}},
        Fault{"MountPathOfAPattern",
              Rule("{path: /dev/tty*, mountPath: /dev/tty}"),
              {"f:5:36: mountPath \"/dev/tty\": the pattern can match several device nodes; end it "
               "with \"/\", and each keeps its name in that directory"}},
        Fault{"MountPathRelative",
              Rule("{path: /dev/fuse, mountPath: fuse}"),
              {"f:5:36: mountPath \"fuse\": not an absolute path; begin it with \"/\""}},
        Fault{"MountPathRoot",
              Rule("{path: /dev/fuse, mountPath: /}"),
              {"f:5:36: mountPath \"/\": the root itself; write a path below it"}},
        Fault{"MountPathDotDot",
              Rule("{path: /dev/fuse, mountPath: /dev/../x}"),
              {"f:5:36: mountPath \"/dev/../x\": contains \".\" or \"..\"; write the path without "
               "it"}},
        Fault{"MountPathTwoSlashes",
              Rule("{path: /dev/tty*, mountPath: /dev//}"),
              {"f:5:36: mountPath \"/dev//\": \"//\"; write a single \"/\""}}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Virtual, ConfigCatalogue,
    ::testing::Values(
        Fault{"NotAMapping",
              Rule("virtual: 4"),
              {"f:5:16: a mapping is expected, this is a number; write for example \"virtual: "
               "{count: 4}\""}},
        Fault{"NoCount",
              Rule("virtual: {}"),
              {"f:5:16: \"count\" is missing; add \"count:\" and a number from 1 to 100000"}},
        Fault{"MisspelledCount",
              Rule("virtual: {cuont: 4}"),
              {"f:5:17: unknown key \"cuont\"; did you mean \"count\"? known here: count, "
               "env, annotations"}},
        Fault{"CountZero",
              Rule("virtual: {count: 0}"),
              {"f:5:24: count \"0\"; write a number from 1 to 100000, without quotes"}},
        Fault{"CountNegative",
              Rule("virtual: {count: -1}"),
              {"f:5:24: count \"-1\"; write a number from 1 to 100000, without quotes"}},
        Fault{"CountInExponents",
              Rule("virtual: {count: 1e7}"),
              {"f:5:24: count \"1e7\"; write a number from 1 to 100000, without quotes"}},
        Fault{"CountTooLarge",
              Rule("virtual: {count: 10000000}"),
              {"f:5:24: count \"10000000\"; write a number from 1 to 100000"}},
        Fault{"CountBeyondNumbers",
              Rule("virtual: {count: 99999999999999999999}"),
              {"f:5:24: count \"99999999999999999999\"; write a number from 1 to 100000, without "
               "quotes"}},
        Fault{"CountOctal",
              Rule("virtual: {count: 010}"),
              {"f:5:24: count \"010\"; write a number from 1 to 100000, without quotes"}},
        Fault{"CountQuoted",
              Rule("virtual: {count: '4'}"),
              {"f:5:24: count \"4\"; write a number from 1 to 100000, without quotes"}},
        Fault{"CountIsAList",
              Rule("virtual: {count: [4]}"),
              {"f:5:24: count is a list; write a number from 1 to 100000, without quotes"}},
        Fault{"CountTooLargeTogether",
              Rule("virtual: {count: 60000}\n    - virtual: {count: 60000}"),
              {"f:3:3: resource d.com/r has 120000 virtual devices; make it at most 100000 (a "
               "kubelet does not take a longer list)"}},
        Fault{"Permissions",
              Rule("{virtual: {count: 1}, permissions: rw}"),
              {"f:5:29: \"permissions\" does not go with \"virtual\"; leave it out"}}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Selectors, ConfigCatalogue,
    ::testing::Values(
        Fault{
            "UsbVendorAndProductInOne",
            Rule("usb: {vendor: '1209:000f'}"),
            {"f:5:21: vendor \"1209:000f\"; write what is before the \":\" here, and the rest as a "
             "key of its own"}},
        Fault{"UsbVendorTooShort",
              Rule("usb: {vendor: 12}"),
              {"f:5:21: vendor \"12\"; write 4 hex digits, as in 0012"}},
        Fault{"UsbVendorIsNoHex",
              Rule("usb: {vendor: zzzz}"),
              {"f:5:21: vendor \"zzzz\"; write 4 hex digits"}},
        Fault{"UsbWithoutAnything",
              Rule("usb: {}"),
              {"f:5:12: this selector says nothing; write for example {vendor: \"0403\", product: "
               "\"6001\"}"}},
        Fault{"UsbIsText",
              Rule("usb: 0403"),
              {"f:5:12: a mapping is expected, this is text; write for example {vendor: "
               "\"0403\", product: \"6001\"}"}},
        Fault{
            "UsbNoAlternative", Rule("usb: []"), {"f:5:12: an empty list; write a selector in it"}},
        Fault{"UsbPortOfAHubOnly",
              Rule("usb: {port: usb1}"),
              {"f:5:19: port \"usb1\"; write the bus and the ports, as in 1-1.4"}},
        Fault{"UsbProductWithoutVendor",
              Rule("usb: {product: '6001'}"),
              {"f:5:13: \"product\" without \"vendor\"; add it, each vendor counts for itself"}},
        Fault{"UsbAndPath",
              Rule("{path: /dev/x, usb: {vendor: '0403'}}"),
              {"f:5:22: \"path\" and \"usb\" in one rule; make two rules of them, each with \"- "
               "\""}},
        Fault{"NodesOfAPath",
              Rule("{path: /dev/x, nodes: [tty]}"),
              {"f:5:22: \"nodes\" does not go with \"path\"; leave it out"}},
        Fault{"NodesThatAreNone",
              Rule("{usb: {vendor: '0403'}, nodes: [/dev/tty]}"),
              {"f:5:38: nodes \"/dev/tty\"; write subsystems of the kernel, as in [tty]"}},
        Fault{"PciAddress",
              Rule("pci: {address: 1-1}"),
              {"f:5:22: address \"1-1\": no PCI address; write it as in 0000:01:00.0"}},
        Fault{
            "PciVfioAndMore",
            Rule("{pci: {vendor: 10de}, nodes: [vfio, drm]}"),
            {"f:5:13: \"vfio\" and another kind in \"nodes\"; a function that is bound to vfio-pci "
             "has no other device nodes"}},
        Fault{"SysfsWithoutSubsystem",
              Rule("sysfs: {name: kvm}"),
              {"f:5:14: \"subsystem\" is missing; write for example {subsystem: drm, name: "
               "\"renderD*\"}"}},
        Fault{"SysfsSubsystemIsAPath",
              Rule("sysfs: {subsystem: ../x}"),
              {"f:5:26: subsystem \"../x\": no name of the kernel's; write one as in drm"}},
        Fault{"SysfsAttributeLeavesTheDevice",
              Rule("sysfs: {subsystem: drm, attributes: {../../x: y}}"),
              {"f:5:44: attribute \"../../x\"; write a path below the device's directory, as in "
               "device/name"}},
        Fault{"ReadOnlyDeviceNode",
              Rule("{path: /dev/x, readOnly: true}"),
              {"f:5:22: \"readOnly\" goes with \"type: mount\"; for a device node write "
               "\"permissions: r\""}},
        Fault{"PermissionsOfAMount",
              Rule("{path: /dev/x, type: mount, permissions: r}"),
              {"f:5:35: \"permissions\" goes with device nodes; for a mount write \"readOnly: "
               "true\""}},
        Fault{"TypeOfAnotherKind",
              Rule("{path: /dev/x, type: Device}"),
              {"f:5:28: type \"Device\"; write \"device\" for a device node or \"mount\" for a "
               "directory or socket"}},
        Fault{
            "GroupOfNothing",
            Rule("all: []"),
            {"f:5:12: \"all\" must be a list with at least one item, this is an empty list; begin "
             "each item with \"- \""}},
        Fault{"GroupOfOptionalMembers",
              Rule("all: [{path: /dev/x, optional: true}]"),
              {"f:5:7: all members are optional; leave that out of the one that matters"}},
        Fault{"GroupInAGroup",
              Rule("all: [{all: []}]"),
              {"f:5:14: unknown key \"all\"; known here: path, usb, pci, sysfs, nodes, mountPath, "
               "permissions, type, readOnly, shared, unsafe, optional, limit"}},
        Fault{"KeysBesideAGroup",
              Rule("{all: [{path: /dev/x}], permissions: r, path: /dev/y}"),
              {"f:5:31: \"permissions\" does not go with \"all\"; write it in the members",
               "f:5:47: \"all\" and \"path\" in one rule; make two rules of them, each with \"- "
               "\""}},
        Fault{"MemoryByItsSubsystem",
              Rule("{sysfs: {subsystem: mem}, unsafe: true}"),
              {"f:5:33: memory by its subsystem; name what is meant as \"path\""}},
        Fault{"EnvOfAVirtualDevice",
              Rule("virtual: {count: 1, env: {A-B: x}, annotations: {cdi.k8s.io/x: y}}"),
              {"f:5:33: \"A-B\"; write letters, digits and \"_\", a letter first",
               "f:5:56: \"cdi.k8s.io/x\"; annotations of CDI are made by \"cdi\" only"}}),
    kName);

TEST(ConfigCatalogue, AliasBombsAreRefused) {
  std::string bomb = "domain: d.com\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 1; k < 10; ++k)
      bomb += ", " + last;
    bomb += "]\n";
  }
  ConfigOutcome outcome = Load(bomb, "f");
  ASSERT_EQ(1, outcome.errors.size());
  EXPECT_THAT(outcome.errors[0], ::testing::HasSubstr("more than 100000 values"));
}

}  // namespace
}  // namespace tenon::config
