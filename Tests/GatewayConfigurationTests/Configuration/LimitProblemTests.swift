import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("Problems of limits")
struct LimitProblemTests {
    @Test(
        "One error is one problem",
        arguments: [
            (
                "limits: [{ name: a, per: address, rate: 1/s, exempt: [alice] }]\n",
                "gateway.yaml:1:54: limits[0].exempt: does not apply to a "
                    + "limit by address alone: the caller is not known yet"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, exempt: [alice, \"group:a b\"] }]\n",
                "gateway.yaml:1:59: limits[0].exempt[1]: \"group:a b\" is not a user name or group:NAME"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, exempt: [\"*\"] }]\n",
                "gateway.yaml:1:52: limits[0].exempt[0]: \"*\" is not a user name or group:NAME"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, exempt: alice }]\n",
                "gateway.yaml:1:51: limits[0].exempt: must be a list"
            ),
            (
                "limits: [{ name: a, per: [user, users], rate: 1/s }]\n",
                "gateway.yaml:1:26: limits[0].per: must be one or more different keys of: "
                    + "sender, recipient, user, group, pns, address"
            ),
            (
                "limits: [{ name: a, per: [user, user], rate: 1/s }]\n",
                "gateway.yaml:1:26: limits[0].per: must be one or more different keys of: "
                    + "sender, recipient, user, group, pns, address"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, shadow: maybe }]\n",
                "gateway.yaml:1:51: limits[0].shadow: must be true or false"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, cost: 2 }]\n",
                "gateway.yaml:1:49: limits[0].cost: \"2\" is not one of: member, call"
            ),
            (
                "limits: [{ name: a, per: [recipient, pns], rate: 1/s, cost: call }]\n",
                "gateway.yaml:1:61: limits[0].cost: does not apply: a limit by recipient "
                    + "counts each audience member separately"
            ),
            (
                "limits: [\(Self.manyLimits)]\n",
                "gateway.yaml:1:9: limits: must be at most 64"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, burst: 0 }]\n",
                "gateway.yaml:1:50: limits[0].burst: must be a "
                    + "whole number from 1 to 1000000"
            ),
            ("limits: []\n", "gateway.yaml:1:9: warning: limits: is empty: nothing is limited"),
        ])
    func oneMistake(line: String, problem: String) {
        #expect(ConfigurationText.problems(line + ConfigurationText.good) == [problem])
    }

    private static let manyLimits = (0..<65).map { "{ name: l\($0), per: user, rate: 1/s }" }.joined(separator: ", ")

    @Test("A limit with all settings and a limit with the required settings are read")
    func limits() throws {
        let text = """
            limits:
              - { name: sends, per: [pns, sender, group], rate: 60/min, burst: 90, shadow: true, exempt: ["group:alarms", Bob], cost: call }
              - { name: device, per: [user, address], rate: 5/s }

            """
        let (configuration, problems) = ConfigurationFile.read(
            text + ConfigurationText.good, file: "gateway.yaml", directory: "",
            catalog: PluginCatalog([FixedPlugin.self]))
        #expect(problems.isEmpty)
        let limits = try #require(configuration).limits
        #expect(
            limits == [
                Limit(
                    name: "sends", per: [.sender, .group, .pns], count: 60, period: .seconds(60), burst: 90,
                    isShadow: true,
                    exempt: [.group(GroupName("alarms")!), .user(UserName(canonical: "bob")!)], audienceCost: .call),
                Limit(
                    name: "device", per: [.user, .address], count: 5, period: .seconds(1), burst: 5, audienceCost: .call
                ),
            ])
    }
}
