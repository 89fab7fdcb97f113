import GatewayTesting

@testable import Gateway
@testable import GatewayCore
@testable import GatewaySupport

extension Limit {
    /// The default limits, with rates that no caller reaches.
    static let ample = defaults.map { limit in
        Limit(name: limit.name, per: limit.per, count: 1_000_000_000, period: .seconds(1))
    }
}

/// A limiter that checks sends to a number of recipients in turn.
private final class Sending {
    private let limiter: Limiter
    private let caller = Identity(user: Sample.user, authenticator: "hmac-token")
    private let sends: [RequestedSend]
    private var next = 0

    init(_ limits: [Limit] = Limit.ample, recipients: Int) {
        limiter = Limiter(limits, clocks: .system)
        sends = (0..<recipients).map { number in
            // The numbered names are valid.
            RequestedSend(service: .apns, recipient: UserName(canonical: "user-\(number)")!, text: "")
        }
    }

    func admit() throws -> Bool {
        next = next + 1 == sends.count ? 0 : next + 1
        return try limiter.admit(caller, at: .documentation, sending: sends[next]).isEmpty
    }

    func reject() -> Bool {
        do throws(Rejection) {
            try limiter.admit(caller, at: .documentation, sending: sends[0])
            return false
        } catch {
            return error.code == .rateLimited
        }
    }
}

func measureLimiter() {
    measure("admit-a-send-10-recipients") {
        Sending(recipients: 10)
    } _: {
        try $0.admit()
    }
    measure("admit-a-send-100000-recipients") {
        Sending(recipients: 100_000)
    } _: {
        try $0.admit()
    }
    measure("reject-a-send-beyond-its-limit") {
        let sending = Sending([Limit(name: "sends", per: [.sender], count: 1, period: .seconds(86_400))], recipients: 1)
        _ = try sending.admit()
        return sending
    } _: {
        $0.reject()
    }
}
