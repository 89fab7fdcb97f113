internal import Gateway
internal import GatewayCore
internal import GatewaySupport

extension ServerConfiguration {
    /// The value of `backend.profile`: a built-in name, or a mapping that extends one.
    struct ReadProfile {
        var profile: BackendProfile
        /// The built-in profile that it is or extends.
        var name: BackendProfile.BuiltIn
        /// Whether it changes the protocol between gateway and backend.
        var changesBackend = false
    }

    /// Reads `profile` of the backend. Default: `classic`.
    static func readProfile(_ backend: ConfigurationReader) -> ReadProfile {
        guard case .mapping? = backend.node("profile")?.shape, let reader = backend.mapping("profile") else {
            let name = backend.word("profile", of: BackendProfile.BuiltIn.self) ?? .classic
            return ReadProfile(profile: BackendProfile(name), name: name)
        }
        defer { reader.finish() }
        // The profile that supplies the fields that are not given.
        if reader.node("from") == nil { reader.report("\"from\" is missing") }
        let name = reader.word("from", of: BackendProfile.BuiltIn.self) ?? .classic
        var read = ReadProfile(profile: BackendProfile(name), name: name)
        // The protocol between clients and gateway.
        if let client = reader.mapping("client") { readClient(client, &read.profile.client) }
        // The protocol between gateway and backend.
        if let side = reader.mapping("backend") {
            readBackendSide(side, &read.profile.backend)
            read.changesBackend = true
        }
        return read
    }

    /// Replaces the backend side by that of a notification hub, which the configuration cannot change.
    static func readHubProfile(_ profile: inout ReadProfile, _ backend: ConfigurationReader) {
        if profile.changesBackend { backend.report("profile", "cannot set \"backend\" for a hub; only \"client\"") }
        profile.profile.backend = .hub
    }

    private static func readClient(_ reader: ConfigurationReader, _ client: inout BackendProfile.ClientSide) {
        defer { reader.finish() }
        // The paths of registrations and sends.
        readPaths(reader, register: &client.registerPath, notifications: &client.notificationsPath)
        for (name, path) in [("register-path", client.registerPath), ("notifications-path", client.notificationsPath)]
        where path == "/auth" || path.hasPrefix("/auth/") {
            reader.report(name, "\"\(path)\" is reserved for the gateway's own endpoints")
        }
        // The locations where clients may put a registration id: path, query, or both.
        if let places = readPlaces(reader) { client.idLocations = places }
        // The status of the response to a registration, by push service: 200 to 204.
        guard let statuses = reader.mapping("update-status") else { return }
        defer { statuses.finish() }
        for service in PushService.allCases {
            if let status = statuses.integer(service.rawValue, in: 200...204) {
                client.updateStatuses[service] = status
            }
        }
    }

    private static func readBackendSide(_ reader: ConfigurationReader, _ side: inout BackendProfile.BackendSide) {
        defer { reader.finish() }
        // The paths of registrations and sends.
        readPaths(reader, register: &side.registerPath, notifications: &side.notificationsPath)
        // The location where the backend reads a registration id.
        side.idLocation = reader.word("id-in", of: BackendProfile.IDLocation.self) ?? side.idLocation
        // The format of a registration id in the backend's response.
        side.idFormat = reader.word("id-answer", of: BackendProfile.IDFormat.self) ?? side.idFormat
        // The identifiers of push services in a registration's Platform. Services that are left out are rejected.
        side.platformNames = readWords("platforms", of: PushService.allCases, reader) ?? side.platformNames
        // The identifiers of push services in pns. Services that are left out cannot be sent to.
        side.pnsNames = readWords("pns", of: [.apns, .wns, .fcm], reader) ?? side.pnsNames
        // The statuses of a successful call.
        side.successStatuses = readStatuses("success", 200...299, reader) ?? side.successStatuses
        if side.successStatuses.isEmpty { reader.report("success", "must name at least one status") }
        // The statuses that mean that a registration no longer exists.
        side.goneStatuses = readStatuses("gone", 400...599, reader) ?? side.goneStatuses
        // Whether a successful PUT proves that the push service has the registration.
        side.confirmsUpdates = reader.bool("confirms-updates") ?? side.confirmsUpdates
        // The time after which the gateway closes an idle connection.
        side.idleTime = reader.duration("idle", in: .seconds(1) ... .seconds(600)) ?? side.idleTime
        // The bytes of the backend's payload beside user and message, by service, for identifiers that do not determine
        // them.
        guard let frames = reader.mapping("payload-frames") else { return }
        defer { frames.finish() }
        for service in [PushService.apns, .wns, .fcm] {
            if let bytes = frames.integer(service.rawValue, in: 0...3000) { side.payloadFrames[service] = bytes }
        }
    }

    private static func readWords(
        _ name: String, of services: [PushService], _ reader: ConfigurationReader
    ) -> PlatformIdentifiers? {
        guard let inner = reader.mapping(name) else { return nil }
        defer { inner.finish() }
        var read: [PushService: PlatformIdentifier] = [:]
        for service in services {
            guard let text = inner.string(service.rawValue) else { continue }
            read[service] = PlatformIdentifier(text)
            if read[service] == nil {
                inner.report(
                    service.rawValue, "\"\(text)\" is not an identifier; use up to 32 letters, digits, _ . and -")
            }
        }
        guard let words = PlatformIdentifiers(read) else {
            inner.report(
                "has one identifier for two services; apns, wns, mpns, gcm, fcm and fcmv1 are reserved for their own")
            return nil
        }
        return words
    }

    private static func readPlaces(_ reader: ConfigurationReader) -> Set<BackendProfile.IDLocation>? {
        guard case .sequence? = reader.node("id-in")?.shape else {
            return reader.word("id-in", of: BackendProfile.IDLocation.self).map { [$0] }
        }
        let texts = reader.strings("id-in") ?? []
        let places = Set(texts.compactMap(BackendProfile.IDLocation.init))
        guard !places.isEmpty, places.count == texts.count else {
            reader.report("id-in", "must be path, query, or both")
            return nil
        }
        return places
    }

    private static func readStatuses(
        _ name: String, _ range: ClosedRange<Int>, _ reader: ConfigurationReader
    ) -> Set<Int>? {
        guard let values = reader.sequence(name) else { return nil }
        var statuses: Set<Int> = []
        for value in values {
            if case .scalar(let text, isPlain: true) = value.node.shape, let status = Int(text), range.contains(status)
            {
                statuses.insert(status)
            } else {
                reader.report(
                    at: value.node.location, under: value.path,
                    "must be a status from \(range.lowerBound) to \(range.upperBound)")
            }
        }
        return statuses
    }
}

extension ServerConfiguration {
    /// Reads the paths of registrations and of sends, for the protocol with clients or with the backend. A path that is
    /// not given keeps its value.
    static func readPaths(_ reader: ConfigurationReader, register: inout String, notifications: inout String) {
        register = path("register-path", reader) ?? register
        notifications = path("notifications-path", reader) ?? notifications
        if register == notifications {
            reader.report("\"register-path\" and \"notifications-path\" are the same: \"\(register)\"")
        }
    }

    private static func path(_ name: String, _ reader: ConfigurationReader) -> String? {
        guard let path = reader.string(name) else { return nil }
        guard isPlain(path) else {
            reader.report(
                name,
                "\"\(path)\" is not a path; use segments of letters, digits, _ . ~ and -, each after a /")
            return nil
        }
        return path
    }

    /// Returns whether every server interprets the path in the same way: no escapes, no empty segments, no dot segments
    /// (RFC 3986, section 5.2.4).
    private static func isPlain(_ path: String) -> Bool {
        func isPathByte(_ byte: UInt8) -> Bool {
            switch byte | 0x20 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): true
            default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-._~".utf8.contains(byte)
            }
        }
        guard path.hasPrefix("/"), path.utf8.count <= 256 else { return false }
        return path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().allSatisfy { segment in
            !segment.isEmpty && segment != "." && segment != ".." && segment.utf8.allSatisfy(isPathByte)
        }
    }
}
