internal import GatewayCore
internal import GatewaySupport

/// Reserves ids and room for the texts of secure sends.
struct SecureTextPlanner: Sendable {
    /// The place where texts are stored.
    enum Destination: Sendable {
        case store(any SecureTextStore)
        /// Nothing is stored, and a placeholder stands for each id.
        case dryRun
    }

    /// The name that records give to the bounds of a recipient's texts, where a member of an audience is skipped because
    /// of them.
    static let limitName = "texts"
    /// The text that stands for an id in a dry run.
    static let placeholder = "{id}"

    let destination: Destination
    let rules: SecureSendRules
    let clocks: Clocks

    /// Reserves ids and room for a text; returns nil in a dry run. Throws if the store is full.
    func reserve(
        _ text: String, for owners: [UserName], scheduled: WallTime?
    ) throws(Rejection) -> SecureTextReservation? {
        guard case .store(let store) = destination else { return nil }
        let now = clocks.wall()
        do throws(SecureTextsFull) {
            return try store.reserve(
                NewSecureText(
                    text: text, owners: owners, delivery: scheduled ?? now, expiry: now.adding(rules.microseconds)))
        } catch {
            throw .textsFull(error.detail)
        }
    }
}

extension Rejection {
    /// The rejection of a secure send without room for its text.
    static func textsFull(_ detail: String) -> Rejection {
        Rejection(
            .textsFull, "secure notifications: \(detail)",
            hint: "The recipient has to read earlier messages, or they have to expire, before another one fits.")
    }
}

extension Rewriting {
    /// The reservation and the payloads of a secure send, one for each recipient that has room.
    struct SecureContent {
        /// Nil in a dry run.
        let reservation: SecureTextReservation?
        /// The recipients, in the order of `payloads` and of the reservation's places.
        let recipients: [UserName]
        let payloads: [[UInt8]]
        /// The recipients without room.
        var full: [UserName] { reservation?.full ?? [] }
        /// The ids, in the order of the recipients; empty in a dry run.
        var ids: [SecureID] { reservation?.places.map(\.id) ?? [] }
    }

    /// Reserves ids and room for a secure send, and returns the payloads that contain the ids.
    func secureContent(
        _ text: String, for owners: [UserName], _ service: PushService, scheduled: WallTime?
    ) throws(Rejection) -> SecureContent {
        guard let secure else { throw Rejection(.internalError, "there is no store of secure notifications") }
        let reservation = try secure.reserve(text, for: owners, scheduled: scheduled)
        let codec = upstreams[service].codec
        let ids = reservation?.places.map(\.id.text) ?? owners.map { _ in SecureTextPlanner.placeholder }
        var payloads: [[UInt8]] = []
        payloads.reserveCapacity(ids.count)
        for id in ids {
            guard let payload = codec.secureContent(id: id, for: service) else {
                throw Rejection(.internalError, "the backend cannot push an id in place of a text")
            }
            payloads.append(payload)
        }
        return SecureContent(
            reservation: reservation, recipients: reservation?.places.map(\.owner) ?? owners, payloads: payloads)
    }
}
