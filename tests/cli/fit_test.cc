#include <gmock/gmock.h>

#include "cli_fixture.h"

namespace tenon::cli_test {
namespace {

struct FitTest : CliTest {
  std::string pod = WriteFile("pod.yaml",
                              "kind: Pod\nmetadata: {name: meter}\nspec:\n  containers:\n"
                              "  - {name: main, resources: {limits: {example.com/serial: 2}}}\n");
  std::string nodes =
      WriteFile("nodes.yaml",
                "kind: Node\nmetadata: {name: lab}\nstatus: {allocatable: {example.com/serial: "
                "\"2\"}}\n---\nkind: Node\nmetadata: {name: edge}\nstatus: {}\n");
  std::string others =
      WriteFile("pods.yaml",
                "kind: Pod\nmetadata: {name: old}\nspec:\n  nodeName: lab\n  containers:\n"
                "  - {name: main, resources: {limits: {example.com/serial: 1}}}\n");
};

TEST_F(FitTest, AnswersForEachNode) {
  Outcome outcome = Run({"pod", "fit", pod, "--nodes", nodes});

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  ExpectGolden("pod-fit.txt", outcome.out);
}

TEST_F(FitTest, FailsWhereThePodFitsNowhere) {
  Outcome table = Run({"pod", "fit", pod, "--nodes", nodes, "--pods", others});
  Outcome json = Run({"pod", "fit", pod, "--nodes", nodes, "--pods", others, "-o", "json"});

  EXPECT_EQ(1, table.code);
  EXPECT_EQ("", table.errors);
  ExpectGolden("pod-fit-none.txt", table.out);
  EXPECT_EQ(1, json.code);
  ExpectGolden("pod-fit-none.json", json.out);
}

TEST_F(FitTest, SaysWhichFileIsWrong) {
  EXPECT_EQ("tenon: " + directory + "/nodes.yaml:1:1: kind must be Pod or a list of them\n",
            Run({"pod", "fit", nodes, "--nodes", nodes}).errors);
  EXPECT_EQ(1, Run({"pod", "fit", pod, "--nodes", directory + "/none"}).code);
  EXPECT_EQ(2, Run({"pod", "fit", pod}).code);
}

}  // namespace
}  // namespace tenon::cli_test
