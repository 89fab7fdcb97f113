internal import GatewayCore

// The responses that unmodified clients accept as success (contract: clients).

extension Answer {
    /// Returns a response without a body, the success of every call except a create.
    static func empty(_ status: Int) -> Answer { Answer(status: status) }

    /// Returns the response with exactly `"<id>"`: clients remove the first and the last character of the body.
    static func registrationID(_ id: RegistrationID) -> Answer {
        Answer(status: 200, contentType: "application/json", body: Array("\"\(id.text)\"".utf8))
    }

    /// Returns the response with the counts of an audience; an error if no member was reached.
    ///
    /// - Parameter detail: The first failure, for the log; nil if all members were skipped.
    static func audience(_ counts: AudienceCounts, detail: String?) -> Answer {
        guard counts.accepted > 0 else {
            return ProblemDocument.answer(
                Refusal(
                    .backendFailed, detail ?? "all members were skipped",
                    hint: "The message reached no member of the audience.", extra: .audience(counts.members)))
        }
        return Answer(
            status: 200, contentType: "application/json", fields: [.noStore],
            body: JSONWriter.bytes(of: .object(counts.members)))
    }
}

extension Answer.Field {
    /// Forbids caches to store the response.
    static let noStore = Answer.Field("Cache-Control", "no-store")
}
