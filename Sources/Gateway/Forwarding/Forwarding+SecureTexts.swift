internal import GatewayCore

extension Forwarding {
    /// Stores the text of a secure send, so that whoever gets the push can read it. A text whose sender was revoked is
    /// not stored, because its recipient could read it without the push.
    ///
    /// - Returns: The result of the send if the text was not stored; nothing may be pushed then.
    @inline(never)
    func store(_ text: SecureTextReservation, of sender: PlannedCaller) async -> ForwardResult? {
        if let withdrawal = sender.revocation?.withdrawal { return ForwardResult(withdrawal) }
        do throws(SecureTextsUnavailable) {
            try await text.store()
            return nil
        } catch {
            var failure = ForwardResult(result: .textsUnavailable)
            failure.detail = "secure notifications: \(error.detail)"
            return failure
        }
    }
}
