internal import Gateway
package import GatewayCore
internal import GatewayHTTP
internal import GatewaySupport

extension ServerConfiguration {
    /// The maximum number of entries: one for each push service.
    private static let maximumBackends = PushService.allCases.count

    /// Reads `backend`: one backend or hub, or a list of them, each with the platforms that it serves. Returns nothing
    /// if it is missing or an entry is invalid.
    static func readBackends(_ root: ConfigurationReader) -> [BackendSection] {
        guard case .sequence? = root.node("backend")?.shape, let entries = root.sequence("backend") else {
            guard let reader = root.mapping("backend") else {
                root.report("\"backend\" is missing")
                return []
            }
            return readBackend(reader).map { [$0] } ?? []
        }
        if entries.isEmpty || entries.count > maximumBackends {
            root.report("backend", "must have from 1 to \(maximumBackends) entries")
        }
        let readers = entries.map { root.reader(of: $0.node, under: $0.path) }
        let services = readPlatforms(readers, root)
        var sections: [BackendSection] = []
        for (reader, services) in zip(readers, services) {
            guard var section = readBackend(reader) else { continue }
            section.services = services ?? []
            sections.append(section)
        }
        guard sections.count == readers.count else { return [] }
        checkEach(sections, readers)
        share(\.profile.client, setBy: "profile", &sections, readers)
        share(\.messages, setBy: "messages", &sections, readers)
        share(\.handles, setBy: "handle-hosts", &sections, readers)
        return sections
    }

    /// Reads `platforms` of each entry. At most one entry has none and serves the platforms that no other entry names.
    private static func readPlatforms(
        _ readers: [ConfigurationReader], _ root: ConfigurationReader
    ) -> [Set<PushService>?] {
        var places: [PushService: String] = [:]
        var named: [Set<PushService>?] = readers.map { reader in
            // The push services whose devices and sends the entry serves; default: those that no other entry names.
            guard let words = reader.strings("platforms") else { return nil }
            if words.isEmpty { reader.report("platforms", "must name at least one platform") }
            return Set(
                words.compactMap { word in
                    guard let service = PushService(rawValue: word) else {
                        let all = PushService.allCases.map(\.rawValue).joined(separator: ", ")
                        reader.report("platforms", "\"\(word)\" is not one of: \(all)")
                        return nil
                    }
                    if let earlier = places.updateValue(reader.path, forKey: service) {
                        reader.report("platforms", "\"\(word)\" is already in the platforms of \(earlier)")
                    }
                    return service
                })
        }
        let rest = Set(PushService.allCases.filter { places[$0] == nil })
        let others = readers.indices.filter { named[$0] == nil }
        for (count, index) in others.enumerated() {
            if count > 0 {
                readers[index].report("\"platforms\" is missing; only one entry may serve the rest")
            } else if rest.isEmpty {
                readers[index].report("serves no platform; the other entries name all of them")
            } else {
                named[index] = rest
            }
        }
        if others.isEmpty, !rest.isEmpty {
            let words = PushService.allCases.filter(rest.contains).map(\.rawValue).joined(separator: ", ")
            root.report(
                "backend", "no entry serves \(words); registrations and sends of these platforms are rejected",
                severity: .warning)
        }
        return named
    }

    private static func checkEach(_ sections: [BackendSection], _ readers: [ConfigurationReader]) {
        var names: [UpstreamName: String] = [:]
        var hub: String?
        for (section, reader) in zip(sections, readers) {
            if let earlier = names.updateValue(reader.path, forKey: section.name) {
                reader.report("is the same as \(earlier); list its platforms there")
            }
            if section.hub != nil {
                if let hub { reader.report("hub", "only one entry may be a hub, and \(hub) is one") }
                hub = hub ?? reader.path
            }
            guard reader.has("platforms") else { continue }
            let side = section.profile.backend
            for service in PushService.allCases
            where section.services.contains(service) && side.platformNames[service] == nil
                && side.pnsNames[service] == nil
            {
                reader.report("platforms", "the profile does not support \(service.rawValue)")
            }
        }
    }

    /// Gives all entries the value of a setting of clients, which may be set in one entry or alike in several.
    private static func share<Value: Equatable>(
        _ value: WritableKeyPath<BackendSection, Value>, setBy key: String, _ sections: inout [BackendSection],
        _ readers: [ConfigurationReader]
    ) {
        let setting = readers.indices.filter { readers[$0].has(key) }
        guard let first = setting.first else { return }
        let shared = sections[first][keyPath: value]
        for index in setting where sections[index][keyPath: value] != shared {
            readers[index].report(
                key, "clients have one protocol, and \(readers[first].path).\(key) sets another one")
        }
        for index in sections.indices { sections[index][keyPath: value] = shared }
    }
}

extension ServerConfiguration.BackendSection {
    /// The name of the upstream in ledger and metrics: its first address, of a hub with the hub's name.
    package var name: UpstreamName {
        switch (address, hub) {
        case (.embedded, nil): UpstreamName("embedded")
        case (.embedded, _?): UpstreamName("embedded-hub")
        case (.remote(let address), nil): UpstreamName(address.description)
        case (.remote(let address), let hub?): UpstreamName("\(address)/\(hub.name)")
        }
    }
}
