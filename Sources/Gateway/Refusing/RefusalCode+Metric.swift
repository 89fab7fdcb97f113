internal import GatewayCore

extension RefusalCode {
    /// Returns the metric label of a call's result; `ok` if the call was carried out. The only mapping from codes to
    /// labels.
    static func metricLabel(of code: RefusalCode?) -> String { code?.rawValue ?? "ok" }
}
