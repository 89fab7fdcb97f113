internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

extension HubCodec {
    func decode(_ response: BackendResponse, to step: UpstreamStep) -> DecodedResponse {
        if let seconds = pause(after: response, to: step) {
            var decoded = DecodedResponse(
                .failed, "status \(response.status); the hub accepts no such requests for \(seconds) s")
            decoded.retryAfter = seconds
            return decoded
        }
        let succeeded = (200..<300).contains(response.status)
        var decoded = DecodedResponse(succeeded ? .done : .failed, Self.detail(of: response))
        switch step {
        case .reserve(nil):
            guard succeeded else { break }
            decoded.reserved = response.location.flatMap { RegistrationID(Self.lastSegment(of: $0)) }
            if decoded.reserved == nil { decoded = DecodedResponse(.failed, "the hub responded with an invalid id") }
        case .reserve(let handle?):
            guard succeeded else { break }
            guard let ids = HubEntry.ids(inFeed: response.body.readableBytesView, of: handle.service) else {
                return DecodedResponse(.failed, "the hub responded with an invalid list of registrations")
            }
            decoded.listed = ids
        case .upsert:
            // 404 means that the hub itself does not exist.
            if response.status == 410 { decoded.result = .gone }
        case .delete:
            if response.status == 404 || response.status == 410 { decoded.result = .done }
        case .cancel:
            if response.status == 404 || response.status == 410 { decoded.result = .gone }
        case .send:
            decoded.notification = response.location.map { String(Self.lastSegment(of: $0)) }.flatMap(
                Self.notificationID)
        }
        return decoded
    }

    /// Begins a pause if the response says that the hub is too busy or that a quota is used up.
    ///
    /// - Returns: The length of the pause in seconds; nil for any other response.
    private func pause(after response: BackendResponse, to step: UpstreamStep) -> Int? {
        switch response.status {
        case 429: break
        case 409, 503: break
        case 403 where Self.isQuotaExceeded(response): break
        default: return nil
        }
        return beginPause(step.kind, seconds: response.retryAfter)
    }

    /// Whether a response with the status 403 says that a quota is used up. A key without the right for the request gets
    /// 403 too; only the detail tells them apart.
    static func isQuotaExceeded(_ response: BackendResponse) -> Bool {
        detail(of: response).asciiLowercased.contains("quota")
    }

    /// Returns the status, and the hub's explanation for operators. It never reaches a client.
    static func detail(of response: BackendResponse) -> String {
        if (200..<300).contains(response.status) { return "status \(response.status)" }
        var tokenizer = XMLTokenizer(response.body.readableBytesView.prefix(8192))
        var isDetail = false
        var detail = ""
        while let token = try? tokenizer.next() {
            switch token {
            case .start(let name, _): isDetail = name == "Detail"
            case .text(let part): if isDetail { detail += part }
            case .end: isDetail = false
            }
        }
        let printable = detail.unicodeScalars.filter { $0.value >= 0x20 && $0.value < 0x7F }.prefix(200)
        return printable.isEmpty
            ? "status \(response.status)" : "status \(response.status): \(String(String.UnicodeScalarView(printable)))"
    }

    /// Returns the last segment of a URI's path.
    private static func lastSegment(of uri: String) -> Substring {
        let path = uri.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return Substring(path.lastIndex(of: UInt8(ascii: "/")).map { path[path.index(after: $0)...] } ?? path)
    }

    private static func notificationID(_ text: String) -> String? {
        guard (1...200).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
        else { return nil }
        return text
    }
}
