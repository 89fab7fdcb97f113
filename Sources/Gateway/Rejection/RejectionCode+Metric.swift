internal import GatewayCore

extension RejectionCode {
    /// Returns the metric label of a call's result; `ok` if the call was carried out. The only mapping from codes to
    /// labels.
    static func metricLabel(of code: RejectionCode?) -> String { code?.rawValue ?? "ok" }
}
