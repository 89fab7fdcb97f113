/// The kinds of registrations that an operator has deleted at the backend.
///
/// A deletion needs a reason that the operator named. Registrations that let a device receive another user's
/// notifications are deleted by the command's own switch. All others may belong to another app that uses the hub, so
/// each of their kinds has to be named.
struct DeletedKinds: Sendable {
    /// Whether registrations are deleted that let a device receive another user's notifications.
    let includesHarmful: Bool
    /// The reasons that were named.
    let named: Set<ExportValidator.Fault>

    /// Returns whether registrations with the reason are deleted.
    func includes(_ fault: ExportValidator.Fault) -> Bool {
        fault.isHarmful ? includesHarmful : named.contains(fault)
    }
}
