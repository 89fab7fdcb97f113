internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import NIOCore

/// The handler of `POST /auth/backchannel-logout` (OpenID Connect Back-Channel Logout 1.0, sections 2.5 to 2.8): an
/// identity provider ends the sessions of a user who has logged out there.
///
/// The logout token is the only credential. The call has no user, so it does not pass the phases after the parsing.
struct ProviderLogouts: Sendable {
    let receivers: [any LogoutReceiver]
    let limiter: Limiter
    let sessions: any SessionStore
    let journal: any Journal
    let logger: Logger

    /// Verifies the token, ends the sessions, and records it. The address pays for a token that is invalid.
    func response(to token: ByteBuffer, _ call: borrowing ParsedCall) async throws(Rejection) -> Response {
        var facts = call.facts
        do throws(Rejection) {
            guard call.allowsCredentials else {
                throw Rejection(
                    .insecureTransport, "a logout token was sent over a plaintext connection",
                    hint: "Credentials are accepted over TLS only.")
            }
            try await end(try await verified(Secret(token.readableBytesView), &facts), facts)
        } catch {
            throw error.with(facts)
        }
        return Response(status: 200, fields: [.noStore])
    }

    private func verified(_ token: Secret, _ facts: inout CallFacts) async throws(Rejection) -> ProviderLogout {
        for receiver in receivers {
            switch await receiver.verifyLogout(token) {
            case .notMine: continue
            case .accepted(let logout): return logout
            case .unavailable(let reason):
                throw Rejection(.authenticatorUnavailable, reason.rawValue, extra: .retryAfter(seconds: 5))
            case .rejected(let reason): try reject(reason, from: facts.peer)
            }
        }
        try reject(.untrusted, from: facts.peer)
    }

    /// Rejects the token, and charges the address: only an invalid token pays.
    private func reject(_ reason: InvalidCredentialReason, from peer: Peer) throws(Rejection) -> Never {
        _ = try limiter.admitLogin(from: peer)
        throw Rejection(
            .malformedRequest, "logout token: \(reason.rawValue)", hint: "The logout token is not valid.")
    }

    /// Ends the sessions, with an intent before and an outcome after it, which has their number.
    private func end(_ logout: ProviderLogout, _ facts: CallFacts) async throws(Rejection) {
        do throws(JournalUnavailable) {
            try await journal.record(JournalRecord(.intent, facts: facts))
        } catch {
            throw Rejection(
                error.isFull ? .overloaded : .journalUnavailable, "journal: \(error.detail)",
                extra: .retryAfter(seconds: error.isFull ? 1 : 5))
        }
        do throws(LedgerUnavailable) {
            let ended = try await sessions.logOut(logout)
            // All of them are of one login, so of one user.
            var facts = facts
            facts.establish {
                $0.user = ended.first?.user
                $0.authenticator = ended.first?.authenticator
                $0.session = ended.count == 1 ? ended.first?.id : nil
            }
            journal.append(
                JournalRecord(.outcome, facts: facts, result: CallResult.accepted.rawValue, count: ended.count))
        } catch {
            journal.append(JournalRecord(.outcome, facts: facts, result: CallResult.ledgerUnavailable.rawValue))
            throw Rejection(.ledgerUnavailable, "ledger: \(error.detail)", extra: .retryAfter(seconds: 5))
        }
    }
}
