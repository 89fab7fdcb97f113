internal import GatewayCore

extension ServerConfiguration {
    /// The list of authenticators: each a mapping of one plug-in's name to its settings.
    static func readAuthenticators(_ root: ConfigurationReader, _ catalog: PluginCatalog) -> [ConfiguredPlugin] {
        let allowed = catalog.names.joined(separator: ", ")
        guard let values = root.sequence("authenticators"), !values.isEmpty else {
            root.report("authenticators", "must name at least one of: \(allowed)")
            return []
        }
        return values.compactMap { value in
            let wrapper = root.reader(of: value.node, under: value.path)
            let entries = wrapper.allEntries()
            guard let entry = entries.first, entries.count == 1 else {
                wrapper.report("must be one plug-in's name and its settings; the names are: \(allowed)")
                return nil
            }
            guard catalog.has(entry.name) else {
                wrapper.report(
                    at: entry.location, under: entry.name, "is no authenticator; there are: \(allowed)")
                return nil
            }
            let reader = wrapper.reader(of: entry.value, under: entry.name)
            defer { reader.finish() }
            return catalog.configured(entry.name, reader)
        }
    }
}
