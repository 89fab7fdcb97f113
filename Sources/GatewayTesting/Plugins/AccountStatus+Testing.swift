public import GatewayCore

extension AccountStatus {
    /// Whether the account is valid.
    public var isGood: Bool { if case .valid = self { true } else { false } }
}
