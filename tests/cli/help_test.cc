#include <gmock/gmock.h>

#include "base/strings.h"
#include "cli_fixture.h"

namespace tenon::cli_test {
namespace {

using ::testing::HasSubstr;

TEST_F(CliTest, EveryCommandExplainsItself) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{},
                                             {"check"},
                                             {"checkpoint"},
                                             {"discover"},
                                             {"import"},
                                             {"manifests"},
                                             {"status"},
                                             {"doctor"},
                                             {"kubelet"},
                                             {"node"},
                                             {"pod"},
                                             {"pod", "apply"},
                                             {"pod", "list"},
                                             {"pod", "describe"},
                                             {"pod", "delete"},
                                             {"pod", "logs"},
                                             {"pod", "admit"},
                                             {"pod", "fit"},
                                             {"plugin"},
                                             {"resource"},
                                             {"resource", "add"},
                                             {"resource", "set"},
                                             {"resource", "remove"},
                                             {"resource", "list"},
                                             {"run"},
                                             {"version"}}) {
    std::vector<std::string> args = command;
    args.emplace_back("--help");

    Outcome outcome = Run(args);

    EXPECT_EQ(0, outcome.code);
    EXPECT_EQ("", outcome.errors);
    ExpectGolden(base::Join(command.empty() ? std::vector<std::string>{"tenon"} : command, "-") +
                     ".help.txt",
                 outcome.out);
  }
}

TEST_F(CliTest, AWrongCommandLineIsAnsweredWithAdvice) {
  struct Case {
    std::vector<std::string> args;
    std::string errors;
  };
  for (const Case& c : std::vector<Case>{
           {{}, "tenon: a command is required; see 'tenon --help'\n"},
           {{"statsu"}, "tenon: 'statsu' is no command of tenon; did you mean 'status'?\n"},
           {{"frobnicate"},
            "tenon: 'frobnicate' is no command of tenon; 'tenon --help' lists them\n"},
           {{"\x1b[2J"}, "tenon: '\\x1b[2J' is no command of tenon; 'tenon --help' lists them\n"},
           {{"pod", "aply"}, "tenon: 'aply' is no command of tenon pod; did you mean 'apply'?\n"},
           {{"pod"}, "tenon: a command is required; see 'tenon pod --help'\n"},
           {{"status", "--what"},
            "tenon: the following argument was not expected: --what; see 'tenon status --help'\n"},
           {{"pod", "delete"}, "tenon: name one pod, or say --all\n"},
           {{"pod", "delete", "x", "--all"}, "tenon: name one pod, or say --all\n"},
           {{"kubelet", "--compat", "1.35"},
            "tenon: --compat: 1.35 not in {1.36}; see 'tenon kubelet --help'\n"},
           {{"kubelet", "--topology-manager-policy-options", "x"},
            "tenon: --topology-manager-policy-options: must be NAME=VALUE; see 'tenon kubelet "
            "--help'\n"},
           {{"run", "--", "x"}, "tenon: one of --image and --rootfs must be given\n"},
           {{"run", "--image", "x", "--limits", "a.b/c", "--", "x"},
            "tenon: --limits a.b/c: write RESOURCE=COUNT, example.com/serial=1\n"},
           {{"run", "--image", "x", "--limits", "a.b/c=0", "--", "x"},
            "tenon: --limits a.b/c=0: the count must be a whole number from 1 up\n"},
           {{"run", "--image", "x", "--limits", "a.b/c=1", "--limits", "a.b/c=2", "--", "x"},
            "tenon: --limits a.b/c=2: a.b/c is there twice\n"},
           {{"run", "--image", "x", "--plugin", "p", "--", "x"},
            "tenon: --plugin requires --limits; see 'tenon run --help'\n"},
           {{"run", "--image", "x", "--env", "=1", "--", "x"},
            "tenon: --env =1: write NAME=VALUE\n"}}) {
    Outcome outcome = Run(c.args);

    EXPECT_EQ(c.errors, outcome.errors);
    EXPECT_EQ(2, outcome.code) << c.errors;
    EXPECT_EQ("", outcome.out);
  }
}

TEST_F(CliTest, AKubeletWithAWrongTopologyDoesNotStart) {
  struct Case {
    std::string option;
    std::string value;
    std::string errors;
  };
  for (const Case& c : std::vector<Case>{
           {"--topology-manager-policy", "odd", "tenon: unknown policy: \"odd\"\n"},
           {"--topology-manager-scope", "odd", "tenon: unknown scope: \"odd\"\n"},
           {"--topology-manager-policy-options", "x=1",
            "tenon: unknown Topology Manager Policy option: \"x\"\n"},
           {"--topology-manager-policy-options", "max-allowable-numa-nodes=7",
            "tenon: the minimum value of \"max-allowable-numa-nodes\" should not be less than "
            "8\n"}}) {
    Outcome outcome = Run({"kubelet", "--runtime", "none", "--kubelet-dir", directory + "/kubelet",
                           c.option, c.value});

    EXPECT_EQ(c.errors, outcome.errors);
    EXPECT_EQ(1, outcome.code) << c.errors;
  }
}

TEST_F(CliTest, OutputThatCannotBeWrittenIsNoSuccess) {
  std::optional<process::ChildExit> ended;
  auto child = process::Child::Start(
      *loop, {.argv = {"/bin/sh", "-c", "exec " TENON_BINARY " version >/dev/full"}},
      [&](process::ChildExit exit) { ended = std::move(exit); });
  ASSERT_TRUE(child);
  ASSERT_TRUE(loop->RunUntil([&] { return ended.has_value(); }, std::chrono::seconds(20)));

  EXPECT_EQ(1, ended->code);
  EXPECT_THAT(ended->errors, HasSubstr("standard output could not be written"));
}

}  // namespace
}  // namespace tenon::cli_test
