internal import GatewayCore

extension RefusalCode {
    /// The label of a call's end in metrics, the one place that turns a refusal into one; `ok` where the call was carried out.
    static func metricLabel(of code: RefusalCode?) -> String { code?.rawValue ?? "ok" }
}
