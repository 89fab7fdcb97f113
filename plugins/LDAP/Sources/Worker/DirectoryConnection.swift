internal import CLDAP
internal import GatewaySupport

/// A connection to a directory server, in the worker. Blocks; each operation takes at most the timeout of the server.
struct DirectoryConnection: ~Copyable {
    private let handle: OpaquePointer

    /// Creates a connection with the options of the server, and TLS if StartTLS is configured. Otherwise the first
    /// operation connects.
    init(to server: DirectoryServer) throws(DirectoryFault) {
        var handle: OpaquePointer?
        let timeout = CInt(clamping: server.timeout)
        let status =
            server.authorities.isEmpty
            ? notify_gateway_ldap_create(server.url, nil, timeout, &handle)
            : notify_gateway_ldap_create(server.url, server.authorities, timeout, &handle)
        guard status == LDAP_SUCCESS, let handle else { throw DirectoryFault(step: .settings, code: status) }
        let secured = server.usesStartTLS ? ldap_start_tls_s(handle, nil, nil) : LDAP_SUCCESS
        guard secured == LDAP_SUCCESS else {
            ldap_unbind_ext_s(handle, nil, nil)
            throw DirectoryFault(step: .startTLS, code: secured)
        }
        self.handle = handle
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
            guard code == LDAP_INVALID_CREDENTIALS else { return BindResult(code: code) }
            let text = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            return BindResult(code: code, detail: BindResult.detail(in: text))
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
