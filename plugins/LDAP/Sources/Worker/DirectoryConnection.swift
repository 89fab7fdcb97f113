internal import CLDAP
internal import GatewaySupport
internal import Glibc

/// A connection to a directory server, in the worker. Blocks; each operation takes at most the timeout of the server.
struct DirectoryConnection: ~Copyable {
    private let handle: OpaquePointer

    /// Connects to the server, and verifies its certificate and name if TLS is configured. Nothing secret is sent.
    init(to server: DirectoryServer) throws(DirectoryFault) {
        guard let url = DirectoryURL(server.url) else { throw DirectoryFault(step: .settings, code: LDAP_PARAM_ERROR) }
        let descriptor: Int32
        do throws(DirectorySocket.Failure) {
            descriptor = try DirectorySocket.connect(to: url.endpoint, timeout: Int64(server.timeout))
        } catch {
            throw DirectoryFault(
                step: .connection, code: error == .timedOut ? LDAP_TIMEOUT : LDAP_SERVER_DOWN)
        }
        let authorities = server.authorities.isEmpty ? nil : server.authorities
        var handle: OpaquePointer?
        let status = notify_gateway_ldap_create(
            descriptor, url.text, authorities, CInt(clamping: server.timeout), &handle)
        guard status == LDAP_SUCCESS, let handle else { throw DirectoryFault(step: .settings, code: status) }
        do throws(DirectoryFault) {
            if url.isTLS || server.usesStartTLS { try Self.encrypt(handle, url) }
        } catch {
            // Keeps libldap from sending its farewell to a false server.
            shutdown(descriptor, Int32(SHUT_RDWR))
            ldap_unbind_ext_s(handle, nil, nil)
            throw error
        }
        self.handle = handle
    }

    /// Begins TLS, and verifies the server's name: libldap also accepts a common name.
    private static func encrypt(_ handle: OpaquePointer, _ url: DirectoryURL) throws(DirectoryFault) {
        let status = url.isTLS ? ldap_install_tls(handle) : ldap_start_tls_s(handle, nil, nil)
        guard status == LDAP_SUCCESS else { throw DirectoryFault(step: .encryption, code: status) }
        var certificate = berval()
        let isKnown = ldap_get_option(handle, LDAP_OPT_X_TLS_PEERCERT, &certificate) == LDAP_OPT_SUCCESS
        defer { if let bytes = certificate.bv_val { ldap_memfree(bytes) } }
        guard isKnown, case .tcp(let host, _) = url.endpoint else {
            throw DirectoryFault(step: .serverName, code: LDAP_CONNECT_ERROR)
        }
        do throws(ServerName.Mismatch) {
            try ServerName(host).verify(
                UnsafeRawBufferPointer(start: certificate.bv_val, count: Int(certificate.bv_len)))
        } catch {
            throw DirectoryFault(step: .serverName, code: LDAP_CONNECT_ERROR)
        }
    }

    deinit { ldap_unbind_ext_s(handle, nil, nil) }

    /// Whether the connection is open and the server has sent nothing since the last operation.
    var isQuiet: Bool { notify_gateway_ldap_is_quiet(handle) == 1 }

    /// Performs a simple bind. The password must not be empty, unless the name is.
    func bind(_ name: String, _ password: Secret) -> BindResult {
        password.withUnsafeBytes { bytes in
            var message = [CChar](repeating: 0, count: 512)
            let code = notify_gateway_ldap_bind(
                handle, name, bytes.baseAddress, bytes.count, &message, message.count)
            let text = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            return BindResult(code: code, message: text)
        }
    }

    /// Searches for entries, and calls the closure with their number and the result code. Referrals are not followed.
    ///
    /// - Parameter limit: the number of entries after which the server stops with `LDAP_SIZELIMIT_EXCEEDED`.
    func search<Result>(
        _ base: String, scope: Int32, filter: String, attributes: [String], limit: Int,
        _ body: (CInt, FoundEntries) -> Result
    ) -> Result {
        var names = attributes.map { strdup($0) } + [nil]
        defer { for name in names { free(name) } }
        var message: OpaquePointer?
        let code = notify_gateway_ldap_search(handle, base, scope, filter, &names, CInt(limit), &message)
        defer { if let message { ldap_msgfree(message) } }
        return body(code, FoundEntries(handle: handle, message: message))
    }
}

/// The entries of a search. Valid during the closure of `DirectoryConnection.search`.
struct FoundEntries {
    fileprivate let handle: OpaquePointer
    fileprivate let message: OpaquePointer?

    /// The number of entries, without references to other servers.
    var count: Int { message.map { Int(ldap_count_entries(handle, $0)) } ?? 0 }

    /// Returns the DNs of the entries.
    func names() -> [String] {
        var names: [String] = []
        var entry = message.flatMap { ldap_first_entry(handle, $0) }
        while let current = entry {
            if let name = Self.name(handle, current) { names.append(name) }
            entry = ldap_next_entry(handle, current)
        }
        return names
    }

    /// Returns the values of the first entry's attribute that are valid text of at most `length` bytes; nil if there
    /// are more than `limit` values, or if the server sent only a range of them.
    func values(of attribute: String, limit: Int, length: Int) -> [String]? {
        guard let entry = message.flatMap({ ldap_first_entry(handle, $0) }) else { return [] }
        guard let values = ldap_get_values_len(handle, entry, attribute) else {
            return hasRange(of: attribute, in: entry) ? nil : []
        }
        defer { ldap_value_free_len(values) }
        let count = Int(ldap_count_values_len(values))
        guard count <= limit else { return nil }
        return (0..<count).compactMap { index in
            guard let value = values[index]?.pointee, value.bv_len <= length else { return nil }
            return String(
                validating: UnsafeRawBufferPointer(start: value.bv_val, count: Int(value.bv_len)), as: UTF8.self)
        }
    }

    // Active Directory sends an attribute of many values as `memberOf;range=0-1499`.
    private func hasRange(of attribute: String, in entry: OpaquePointer) -> Bool {
        var position: OpaquePointer?
        var name = ldap_first_attribute(handle, entry, &position)
        defer { if let position { ber_free(position, 0) } }
        var found = false
        while let current = name {
            if String(cString: current).lowercased().hasPrefix("\(attribute.lowercased());range=") { found = true }
            ldap_memfree(current)
            name = ldap_next_attribute(handle, entry, position)
        }
        return found
    }

    private static func name(_ handle: OpaquePointer, _ entry: OpaquePointer) -> String? {
        guard let text = ldap_get_dn(handle, entry) else { return nil }
        defer { ldap_memfree(text) }
        return String(validatingCString: text)
    }
}
