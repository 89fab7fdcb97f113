import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Keys, exemptions and costs of limits") struct LimitKindTests {
    private let clock = ManualClock()
    private let alice = UserName.numbered(1)
    private let bob = UserName.numbered(2)
    private let carol = UserName.numbered(3)

    private func limiter(_ limits: Limit...) -> Limiter { Limiter(limits, clocks: clock.clocks, capacity: 1000) }

    @Test("A limit by group has one bucket for each group of the caller, and does not count callers without groups")
    func groups() {
        let limiter = limiter(Limit(name: "team", per: [.group], count: 2, period: .seconds(60)))
        #expect(limiter.admits(.test(alice, "red", "blue")))
        #expect(limiter.admits(.test(bob, "red")))
        // The bucket of red is empty, so its members are rejected. The rejected call takes nothing from blue.
        #expect(limiter.refusing(.test(alice, "red", "blue"))?.name == "team")
        #expect(limiter.admits(.test(carol, "blue"), to: bob))
        #expect(!limiter.admits(.test(carol, "blue")))
        for _ in 0..<10 { #expect(limiter.admits(.test(carol))) }
        #expect(limiter.admits(.test(carol, "green")))
    }

    @Test(
        "Each combination of keys has its own bucket",
        arguments: [
            ([.user, .address], 2), ([.sender, .group], 2), ([.recipient, .pns], 4),
            ([.sender, .recipient, .pns, .address], 8),
            ([.group, .recipient], 2), ([.user], 1), ([.sender, .user], 1), ([.pns], 2), ([.group], 1),
            ([.recipient], 2),
        ] as [(Set<Limit.Key>, Int)])
    func combinations(_ per: Set<Limit.Key>, _ expected: Int) {
        let limiter = limiter(Limit(name: "x", per: per, count: 1, period: .seconds(60)))
        var admitted = 0
        for user in per.contains(.sender) && per.contains(.group) ? [alice, bob] : [alice] {
            for peer in [Peer.documentation(1), .documentation(2)] {
                for recipient in [bob, carol] {
                    for service in [PushService.apns, .fcm] {
                        for _ in 0..<2 where limiter.admits(.test(user, "red"), at: peer, to: recipient, service) {
                            admitted += 1
                        }
                    }
                }
            }
        }
        #expect(admitted == expected)
    }

    @Test("An address combined with a user counts after authentication; an address alone counts logins")
    func addresses() throws {
        let limiter = limiter(Limit(name: "device", per: [.user, .address], count: 1, period: .seconds(60)))
        for _ in 0..<3 { _ = try limiter.admitLogin(from: .documentation) }
        #expect(limiter.admits(.test(alice), at: .documentation))
        #expect(!limiter.admits(.test(alice), at: .documentation))
        let v6 = { (host: UInt64) in Peer(address: .v6(7, host), text: "") }
        #expect(limiter.admits(.test(alice), at: v6(1)))
        #expect(!limiter.admits(.test(alice), at: v6(2)))
    }

    @Test("A shadow limit counts without rejecting, and reports what it would reject")
    func shadow() throws {
        let limiter = limiter(
            Limit(name: "trial", per: [.sender], count: 1, period: .seconds(60), isShadow: true),
            Limit(name: "inbox", per: [.recipient], count: 3, period: .seconds(60)))
        let send = RequestedSend(service: .apns, recipient: bob, text: "")
        #expect(try limiter.admit(alice, sending: send) == [])
        for _ in 0..<2 { #expect(try limiter.admit(alice, sending: send) == ["trial"]) }
        #expect(limiter.refusing(.test(alice), to: bob)?.name == "inbox")
        // The limit did not charge the calls that it would have rejected.
        clock.advance(by: .seconds(60))
        #expect(limiter.exhausted().isEmpty)
        #expect(try limiter.admit(alice, sending: send) == [])
        _ = try limiter.admit(alice, sending: send)
        #expect(limiter.exhausted().map(\.limit) == ["trial"] && limiter.exhausted()[0].isShadow)
    }

    @Test("Would-be rejections of shadow limits are counted once for each call, and kept over a replacement")
    func trials() throws {
        func trial(_ count: Int) -> Limit {
            Limit(name: "trial", per: [.group], count: count, period: .seconds(60), isShadow: true)
        }
        let limiter = limiter(
            Limit(name: "calls", per: [.user], count: 3, period: .seconds(60)), trial(1))
        let caller = Identity.test(alice, "red", "blue")
        for _ in 0..<3 { #expect(limiter.admits(caller)) }
        #expect(limiter.wouldReject.map(\.limit) == ["trial"])
        #expect(limiter.wouldReject.map(\.count) == [2])
        // A dry run is not counted. A call that another limit rejects is counted.
        _ = try? limiter.admit(caller, at: .documentation, sending: nil, .dryRun)
        #expect(limiter.wouldReject.map(\.count) == [2])
        #expect(!limiter.admits(caller))
        #expect(limiter.wouldReject.map(\.count) == [3])
        #expect(limiter.replacing([trial(9)]).wouldReject.map(\.count) == [3])
    }

    @Test("A call that a shadow limit would reject is served and recorded with the limit's name")
    func shadowIsRecorded() async {
        let gateway = TestGateway { rules in
            rules.limiter = Limiter(
                [
                    Limit(name: "trial", per: [.sender], count: 1, period: .seconds(60), isShadow: true),
                    Limit(name: "inbox", per: [.recipient], count: 1, period: .seconds(60), isShadow: true),
                ], clocks: ManualClock().clocks)
        }
        for _ in 0..<2 { #expect(await gateway.serve(Sample.send()).status == 200) }
        #expect(gateway.journal.records(.intent).map(\.facts?.wouldLimit) == [[], ["trial", "inbox"]])
        #expect(gateway.journal.records(.outcome).map(\.facts?.wouldLimit) == [[], ["trial", "inbox"]])
        #expect(gateway.journal.records(.rejection).isEmpty)
    }

    @Test("An exempt caller is neither counted nor rejected; an exempt recipient is")
    func exempt() {
        let limiter = limiter(
            Limit(
                name: "inbox", per: [.recipient], count: 1, period: .seconds(60),
                exempt: [.user(alice), .group(GroupName("alarms")!)]))
        for _ in 0..<3 {
            #expect(limiter.admits(.test(alice), to: bob))
            #expect(limiter.admits(.test(carol, "alarms", "other"), to: bob))
        }
        #expect(limiter.admits(.test(carol), to: bob))
        #expect(!limiter.admits(.test(carol, "other"), to: bob))
        #expect(limiter.admits(.test(alice), to: bob))
        #expect(limiter.admits(.test(carol), to: alice))
        #expect(!limiter.admits(.test(carol), to: alice))
    }

    @Test("The cost of an audience send depends on its limit")
    func costs() throws {
        let members = (10..<15).map(UserName.numbered)
        let send = RequestedAudienceSend(service: .apns, audience: AudienceName("oncall")!, text: "")
        func left(_ limit: Limit) throws -> Int {
            let limiter = limiter(limit)
            _ = try limiter.admit(.test(alice), at: .documentation, sending: send, to: members)
            return limiter.statuses(of: .test(alice), at: .documentation, sending: send, to: members)[0].remaining
        }
        func limit(_ per: Set<Limit.Key>, _ cost: Limit.AudienceCost?) -> Limit {
            Limit(name: "x", per: per, count: 20, period: .seconds(60), audienceCost: cost)
        }
        #expect(try left(limit([.sender], nil)) == 15)
        #expect(try left(limit([.sender], .call)) == 19)
        #expect(try left(limit([.user], nil)) == 19)
        #expect(try left(limit([.user], .member)) == 15)
        #expect(try left(limit([.user, .pns], nil)) == 15)
        #expect(try left(limit([.recipient], nil)) == 19)
    }

    @Test("A large audience is charged for each member, by shadow limits too")
    func longAudiences() throws {
        let members = (0..<500).map(UserName.numbered)
        let send = RequestedAudienceSend(service: .apns, audience: AudienceName("all")!, text: "")
        let limiter = limiter(
            Limit(name: "inbox", per: [.recipient], count: 2, period: .seconds(60)),
            Limit(name: "pair", per: [.sender, .recipient], count: 1, period: .seconds(60), isShadow: true),
            Limit(name: "sends", per: [.sender], count: 5000, period: .seconds(60)))
        for number in stride(from: 0, to: 500, by: 7) {
            for _ in 0..<2 { #expect(limiter.admits(.test(.numbered(1000)), to: .numbered(number))) }
        }
        let admitted = try limiter.admit(.test(alice), at: .documentation, sending: send, to: members)
        #expect(admitted.skipped.map(\.user) == stride(from: 0, to: 500, by: 7).map(UserName.numbered))
        #expect(admitted.reached.count + admitted.skipped.count == 500 && admitted.shadowRejected == [])
        let again = try limiter.admit(.test(alice), at: .documentation, sending: send, to: members)
        #expect(again.shadowRejected == ["pair"] && again.reached == admitted.reached)
    }
}
