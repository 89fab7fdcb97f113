internal import GatewaySupport
internal import OutboundHTTP

/// The explanation of a response that is an error: what happened, and what the operator has to do.
enum StoreError {
    /// Returns the failure for a response.
    ///
    /// - Parameters:
    ///   - body: The document of the error; empty for a response to HEAD.
    ///   - retryAfter: The wait that the store asks for.
    static func failure(
        status: Int, body: [UInt8], for settings: ArchiveSettings, retryAfter: Duration? = nil
    ) -> DeliveryFailure {
        let code = code(in: body)
        let reason = explanation(of: code ?? "", settings) ?? explanation(of: status, settings)
        let detail = code.map { "status \(status), \($0)" } ?? "status \(status)"
        return DeliveryFailure(
            reason.map { "\($0) (\(detail))" } ?? "the store responded with \(detail)", retryAfter: retryAfter)
    }

    /// Returns the element `Code` of the document, if it is a word of at most 64 letters and digits.
    static func code(in body: [UInt8]) -> String? {
        var tokens = XMLTokenizer(body)
        var isCode = false
        var code = ""
        while let token = try? tokens.next() {
            switch token {
            case .start(let name, _): isCode = name == "Code"
            case .text(let text): if isCode { code += text }
            case .end(let name):
                guard name == "Code" else { continue }
                let isWord =
                    (1...64).contains(code.utf8.count) && code.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
                return isWord ? code : nil
            }
        }
        return nil
    }

    private static func explanation(of code: String, _ settings: ArchiveSettings) -> String? {
        switch code {
        case "NoSuchBucket":
            "the bucket \(settings.bucket) does not exist; create it, or correct journal.archive.s3.bucket"
        case "InvalidAccessKeyId":
            "the store does not know the access key; correct journal.archive.s3.access-key-id"
        case "SignatureDoesNotMatch":
            "the store rejected the signature; correct journal.archive.s3.secret-access-key, or let the proxy before the "
                + "store leave the field Host unchanged"
        case "AccessDenied", "AllAccessDisabled":
            "the credentials may not do this in the bucket \(settings.bucket); grant the permissions in "
                + "docs/journal-archive.md"
        case "RequestTimeTooSkewed":
            "the clock of this machine and that of the store differ too much; synchronize them"
        case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
            "the store does not accept the session token; renew journal.archive.s3.session-token and reload"
        case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
            "the bucket is in another region; correct journal.archive.s3.region and endpoint"
        case "NotImplemented":
            "the store does not support conditional writes (If-None-Match), without which it could overwrite an object"
        case "XAmzContentSHA256Mismatch", "BadDigest", "InvalidDigest":
            "the segment changed while it was sent, or the connection damaged it"
        case "SlowDown", "ServiceUnavailable": "the store asks for fewer requests"
        default: nil
        }
    }

    private static func explanation(of status: Int, _ settings: ArchiveSettings) -> String? {
        switch status {
        case 300..<400:
            "the store redirects, which is not followed; correct journal.archive.s3.endpoint and region"
        case 401, 403:
            "the credentials may not do this in the bucket \(settings.bucket); correct them, or grant the permissions in "
                + "docs/journal-archive.md"
        default: nil
        }
    }
}
