internal import GatewaySupport

/// The meaning of a collector's response to a request with spans.
enum OTLPResponse: Sendable, Hashable {
    /// The collector accepted the spans, except for the number that it rejected (`partial_success`).
    case accepted(rejected: Int, message: String)
    /// The collector accepted nothing now. The same request may succeed later.
    case retryable(reason: String, after: Duration?)
    /// The collector will never accept the request.
    case rejected(reason: String)

    /// The maximum number of bytes of the collector's own text in a log line.
    static let maximumMessageBytes = 200

    /// Interprets a response (OTLP 1, section OTLP/HTTP Response).
    ///
    /// - Parameters:
    ///   - body: The body, or nil if it was incomplete or too long. The status decides whether the spans were accepted.
    ///   - retryAfter: The wait that the collector asks for.
    ///   - sent: The number of spans of the request.
    init(status: Int, retryAfter: Duration?, body: [UInt8]?, sent: Int) {
        switch status {
        case 200..<300:
            let partial = body.flatMap { try? JSONParser(depthLimit: 8, memberLimit: 64).parse($0.span) }?[
                "partialSuccess"]
            // A 64-bit integer is a string in this JSON; some collectors write a number.
            let rejected = partial?["rejectedSpans"].flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } } ?? 0
            self = .accepted(
                rejected: Int(min(max(0, rejected), Int64(sent))),
                message: Self.printable(partial?["errorMessage"]?.string ?? ""))
        case 429, 502, 503, 504:
            self = .retryable(reason: "the collector responded with status \(status)", after: retryAfter)
        case 300..<400:
            self = .rejected(reason: "the collector responded with status \(status); redirects are not followed")
        default: self = .rejected(reason: "the collector responded with status \(status)")
        }
    }

    private static func printable(_ text: String) -> String {
        String(
            decoding: text.utf8.lazy.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
                .prefix(maximumMessageBytes), as: UTF8.self)
    }
}
