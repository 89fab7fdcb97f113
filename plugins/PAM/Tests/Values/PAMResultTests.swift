import GatewayCore
import GatewaySupport
import Testing

@testable import PAM

@Suite("Decisions on PAM codes")
struct PAMResultTests {
    private func verdict(
        _ authentication: Int32?, _ account: Int32?, uid: UInt32 = 1000, of operation: WorkerRequest.Operation = .login,
        minimumUID: UInt32 = 1000, facts: WorkerResult.Facts = []
    ) -> PAMResult {
        let workerResult = WorkerResult(
            authentication: authentication.map(PAMCode.init), account: account.map(PAMCode.init), user: "alice",
            entry: .found(.init(uid: uid, groups: [])), facts: facts)
        return PAMResult(workerResult, of: operation, minimumUID: minimumUID)
    }

    private static let granted = PAMResult.granted(name: "alice", groups: [])

    @Test("Exactly one pair of codes accepts a login")
    func pairs() {
        let codes: [Int32?] = [nil] + (-300..<300).map(Optional.some)
        for authentication in codes {
            for account in codes where verdict(authentication, account) == Self.granted {
                #expect(authentication == 0)
                #expect(account == 0)
            }
        }
        #expect(verdict(0, 0) == Self.granted)
    }

    @Test("An account check needs its own success and no password result")
    func status() {
        #expect(verdict(nil, 0, of: .accountStatus) == Self.granted)
        #expect(verdict(0, 0, of: .accountStatus) == .undecided)
        #expect(verdict(nil, nil, of: .accountStatus) == .undecided)
        for code in 1..<300 as Range<Int32> { #expect(verdict(nil, code, of: .accountStatus) != Self.granted) }
        // Only codes about the account itself reject it; temporary conditions are undecided.
        #expect(verdict(nil, 6, of: .accountStatus) == .refused(.disabled, isKnown: true))
        for code in [12, 13, 16, 27] as [Int32] {
            #expect(verdict(nil, code, of: .accountStatus) == .refused(.expired, isKnown: true))
        }
        for code in [7, 10, 11] as [Int32] {
            #expect(verdict(nil, code, of: .accountStatus) == .undecided)
            var workerResult = WorkerResult(
                authentication: nil, account: PAMCode(code), user: "alice", entry: .unreadable)
            #expect(PAMResult(workerResult, of: .accountStatus, minimumUID: 1) == .undecided)
            workerResult.entry = .absent
            #expect(PAMResult(workerResult, of: .accountStatus, minimumUID: 1) == .refused(.wrong, isKnown: false))
        }
    }

    @Test("The shadow file says which of the codes with two meanings ends an account, and never contradicts a success")
    func shadow() {
        let ended = PAMResult.refused(.expired, isKnown: true)
        for code in [6, 7, 10, 11] as [Int32] {
            #expect(verdict(nil, code, of: .accountStatus, facts: .expired) == ended)
            #expect(verdict(nil, code, of: .accountStatus, facts: .locked) == ended)
            #expect(verdict(0, code, facts: .expired) == ended)
            #expect(verdict(0, code, facts: .locked) == .refused(.disabled, isKnown: true))
        }
        #expect(verdict(nil, 0, of: .accountStatus, facts: .expired) == Self.granted)
        #expect(verdict(nil, 0, of: .accountStatus, facts: .locked) == ended)
        #expect(verdict(0, 0, facts: [.expired, .locked]) == Self.granted)
        // A fault of a module decides nothing.
        for code in [3, 4, 9, 19, 26] as [Int32] {
            #expect(verdict(nil, code, of: .accountStatus, facts: [.expired, .locked]) == .undecided)
        }
    }

    @Test("PAM_SYSTEM_ERR is the refusal of a command only where the stack calls pam_exec")
    func command() {
        #expect(verdict(4, nil, facts: .commandInAuth) == .refused(.wrong, isKnown: true))
        #expect(verdict(4, nil, facts: .commandInAccount) == .undecided)
        #expect(verdict(0, 4, facts: .commandInAccount) == .refused(.disabled, isKnown: true))
        #expect(verdict(0, 4, facts: .commandInAuth) == .undecided)
        // At a check of an account the command may have failed for a reason that passes.
        #expect(verdict(nil, 4, of: .accountStatus, facts: .commandInAccount) == .undecided)
    }

    @Test("Before the password is verified, an unknown user, a wrong password and a denied user are rejected alike")
    func same() {
        #expect(verdict(7, nil) == .refused(.wrong, isKnown: true))
        #expect(verdict(10, nil) == .refused(.wrong, isKnown: true))
        #expect(verdict(6, nil) == .refused(.wrong, isKnown: true))
        #expect(verdict(11, nil) == .refused(.wrong, isKnown: true))
        #expect(verdict(0, 6) == .refused(.disabled, isKnown: true))
        #expect(verdict(0, 10) == .refused(.disabled, isKnown: true))
        #expect(verdict(0, 13) == .refused(.expired, isKnown: true))
        #expect(verdict(13, nil) == .refused(.expired, isKnown: true))
    }

    @Test(
        "A code that is not a rejection is undecided",
        arguments: [1, 2, 3, 4, 5, 8, 9, 15, 19, 24, 25, 26, 28, 31, 99, -1])
    func undecided(_ code: Int32) {
        #expect(verdict(code, nil) == .undecided)
        #expect(verdict(0, code) == .undecided)
    }

    @Test("The uid is checked last")
    func uid() {
        #expect(verdict(0, 0, uid: 999) == .refused(.disabled, isKnown: true))
        #expect(verdict(0, 0, uid: 0, minimumUID: 0) == .refused(.disabled, isKnown: true))
        #expect(verdict(0, 0, uid: 1, minimumUID: 1) == Self.granted)
        #expect(verdict(0, 0, uid: .max) == Self.granted)
        #expect(verdict(7, nil, uid: 0) == .refused(.wrong, isKnown: true))
        var workerResult = WorkerResult(authentication: PAMCode(0), account: PAMCode(0), user: "alice", entry: .absent)
        #expect(PAMResult(workerResult, of: .login, minimumUID: 1) == .refused(.disabled, isKnown: false))
        workerResult.entry = .unreadable
        #expect(PAMResult(workerResult, of: .login, minimumUID: 1) == .undecided)
    }
}
