import Testing

@Suite("Problems of policy and audiences")
struct PolicyProblemTests {
    @Test("A group in `to` and a reserved tag in a rule are reported")
    func policyMistakes() {
        let text = """
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            policy:
              send: [{ from: "group:staff", to: "group:staff" }, { from: "a b", to: self }]
              tags: [{ user: "*", allow: ["username:*", "a,b"] }]
            """
        #expect(
            ConfigurationText.problems(text) == [
                "gateway.yaml:4:37: policy.send[0].to: \"group:staff\" is a group; groups are allowed in "
                    + "\"from\" only, use an audience in \"to\"",
                "gateway.yaml:4:62: policy.send[1].from: \"a b\" is not a user name, group:NAME or *",
                "gateway.yaml:5:30: warning: policy.tags[0].allow: \"username:*\" can never match: username: and from: "
                    + "are reserved",
                "gateway.yaml:5:30: policy.tags[0].allow: \"a,b\" is not a tag pattern; use letters, digits, _ @ "
                    + "# . : - and *",
            ])
    }

    @Test("A rule that can never match and a policy that is not enforced cause warnings")
    func shadowedRules() {
        let text = """
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            identity: { escape: hex }
            policy:
              enforce: false
              send:
                - { from: "group:staff", to: "*" }
                - { from: "group:staff", to: bob }
                - { from: "*", to: self }
                - { from: Alice, to: alice }
                - { from: alice, to: bob }
                - { from: alice, to: "bo*" }
                - { from: self, to: bob }
              tags:
                - { user: "*", allow: ["topic:*"] }
                - { user: "group:staff", allow: ["region:*", "topic:news", "region:x"] }
                - { user: alice, allow: [] }
            """
        #expect(
            ConfigurationText.problems(text) == [
                "gateway.yaml:5:12: warning: policy.enforce: is false: sends that the rules would reject are "
                    + "forwarded, and recorded as would-refuse",
                "gateway.yaml:8:7: warning: policy.send[1]: can never match; policy.send[0] includes it",
                "gateway.yaml:10:7: warning: policy.send[3]: can never match; policy.send[2] includes it",
                "gateway.yaml:12:26: policy.send[5].to: \"bo*\" is not a user name, self, audience:NAME or *",
                "gateway.yaml:13:15: policy.send[6].from: \"self\" is not a user name, group:NAME or *",
                "gateway.yaml:16:37: warning: policy.tags[1].allow: \"topic:news\" can never match; policy.tags[0] "
                    + "already includes it",
                "gateway.yaml:16:37: warning: policy.tags[1].allow: \"region:x\" can never match; policy.tags[1] "
                    + "already includes it",
                "gateway.yaml:17:29: warning: policy.tags[2].allow: is empty; the rule can never match",
            ])
    }

    @Test("An audience contains users, has members and occurs in a rule")
    func audienceMistakes() {
        let many = (0...500).map { "u\($0)" }.joined(separator: ", ")
        let text = """
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            identity: { escape: hex }
            audiences:
              oncall: [alice, Bob, "group:staff", "audience:all", "*", ALICE]
              OnCall: [alice]
              on call: [alice]
              empty: []
              none: ~
              many: [\(many)]
              unused: [alice, bob]
            policy:
              send:
                - { from: "*", to: "audience:ONCALL" }
                - { from: "*", to: "audience:other" }
                - { from: "audience:oncall", to: self }
                - { from: alice, to: "audience:oncall" }
            """
        #expect(
            ConfigurationText.problems(text).map { $0.dropFirst("gateway.yaml:".count) } == [
                "5:24: audiences.oncall[2]: \"group:staff\" is not a user name; members are users, not groups or audiences",
                "5:39: audiences.oncall[3]: \"audience:all\" is not a user name; members are users, not groups or audiences",
                "5:55: audiences.oncall[4]: \"*\" is not a user name; members are users, not groups or audiences",
                "5:60: audiences.oncall[5]: \"alice\" is a duplicate member",
                "6:3: audiences.OnCall: is a duplicate; audience names are not case-sensitive",
                "7:3: audiences.on call: is not an audience name; use up to 64 letters, digits, _ . and -",
                "8:10: audiences.empty: must have from 1 to 500 members",
                "9:9: audiences.none: must have from 1 to 500 members",
                "10:9: audiences.many: must have from 1 to 500 members",
                "15:24: policy.send[1].to: \"audience:other\" is not defined in \"audiences\"",
                "16:15: policy.send[2].from: \"audience:oncall\" is not a user name, group:NAME or *",
                "17:7: warning: policy.send[3]: can never match; policy.send[0] includes it",
                "8:10: warning: audiences.empty: is in no rule of policy.send; nobody may send to it",
                "9:9: warning: audiences.none: is in no rule of policy.send; nobody may send to it",
                "10:9: warning: audiences.many: is in no rule of policy.send; nobody may send to it",
                "10:9: warning: audiences.many: has 501 members, but the limit \"sends\" admits only 60 sends at once; "
                    + "every send to it is rejected",
                "11:11: warning: audiences.unused: is in no rule of policy.send; nobody may send to it",
            ])
    }
}
