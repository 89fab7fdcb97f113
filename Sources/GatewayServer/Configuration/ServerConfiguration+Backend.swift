internal import Gateway
internal import GatewayCore

extension ServerConfiguration {
    static func readBackend(_ root: ConfigurationReader) -> BackendSection? {
        guard let reader = root.mapping("backend") else {
            root.report("\"backend\" is missing")
            return nil
        }
        defer { reader.finish() }
        let address = readAddress(reader)
        // What clients and backend speak: classic, core or net6; classic unless given.
        let profileName = reader.word("profile", of: BackendProfile.BuiltIn.self) ?? .classic
        // How the backend is told who the user is; mirror unless given.
        let credential = readCredential(reader)
        // How the text of a message is found: auto or literal; auto unless given.
        let messages = reader.word("messages", of: MessageReading.self) ?? .auto
        // How long the backend may take for one call; 65 s unless given.
        let timeout = reader.duration("timeout", in: .milliseconds(100)...(.seconds(600))) ?? .seconds(65)
        // The port of the embedded backend on 127.0.0.1; 0, any, unless given.
        let embeddedPort = reader.integer("port", in: 0...65535)
        if embeddedPort != nil, let address, address != .embedded {
            reader.report("port", "is for the embedded backend alone; the url has the port of any other")
        }
        let handles = readHandleHosts(reader.mapping("handle-hosts"))
        guard let address else { return nil }
        return BackendSection(
            address: address, profile: BackendProfile(profileName), profileName: profileName, credential: credential,
            messages: messages, handles: handles, timeout: timeout, embeddedPort: embeddedPort ?? 0)
    }

    private static func readAddress(_ reader: ConfigurationReader) -> BackendAddress? {
        guard let text = reader.required("url") else { return nil }
        guard let address = BackendAddress(text) else {
            reader.report(
                "url",
                "\"\(text)\" is not a backend; write http://host:port, unix: and an absolute path, or embedded")
            return nil
        }
        return address
    }

    private static func readCredential(_ reader: ConfigurationReader) -> UpstreamCredential {
        guard let node = reader.node("credential") else { return .mirror }
        if case .scalar(let word, _) = node.shape {
            if word != "mirror" {
                reader.report(
                    "credential",
                    "\"\(word)\" is none of: mirror, a mapping with shared-password, a mapping with user-header, "
                        + "secret-header and secret")
            }
            return .mirror
        }
        let inner = reader.reader(of: node, under: "credential")
        defer { inner.finish() }
        if inner.has("shared-password") {
            return inner.required("shared-password").map { .sharedPassword(Secret($0.utf8)) } ?? .mirror
        }
        let user = fieldName("user-header", inner)
        let secretField = fieldName("secret-header", inner)
        // Secret.
        let secret = inner.required("secret")
        if let secret, !secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            inner.report("secret", "must be visible ASCII, since it travels in a header field")
        }
        guard let user, let secretField, let secret else { return .mirror }
        return .header(userField: user, secretField: secretField, secret: Secret(secret.utf8))
    }

    private static func fieldName(_ name: String, _ reader: ConfigurationReader) -> String? {
        guard let field = reader.required(name) else { return nil }
        func isFieldByte(_ byte: UInt8) -> Bool {
            switch byte | 0x20 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): true
            default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            }
        }
        let reserved = ["host", "authorization", "content-length", "content-type", "transfer-encoding", "connection"]
        guard field.utf8.allSatisfy(isFieldByte), !reserved.contains(field.lowercased()) else {
            reader.report(name, "\"\(field)\" cannot be used as a header field here")
            return nil
        }
        return field
    }

    private static func readHandleHosts(_ reader: ConfigurationReader?) -> HandleRules {
        guard let reader else { return HandleRules() }
        defer { reader.finish() }
        let standard = HandleRules()
        return HandleRules(
            wnsHosts: hosts("wns", reader) ?? standard.wnsHosts, mpnsHosts: hosts("mpns", reader) ?? standard.mpnsHosts)
    }

    private static func hosts(_ name: String, _ reader: ConfigurationReader) -> [String]? {
        guard let hosts = reader.strings(name) else { return nil }
        for host in hosts {
            let bare = host.hasPrefix("*.") ? host.dropFirst(2) : host[...]
            // A star for a whole top-level domain would let the hub post anywhere.
            if !bare.contains(".") || bare.contains("*") {
                reader.report(name, "\"\(host)\" is not a host, nor *. and a domain of two parts or more")
            }
        }
        return hosts
    }
}
