public import GatewayCore
internal import GatewaySupport
internal import OutboundHTTP
package import TraceExport

extension ServerConfiguration {
    /// The tracing.
    public struct TracingSection: Sendable, Equatable {
        /// The rule that selects the calls with spans.
        public var sampling: TraceSampling
        /// The collector.
        package var export: TraceExportSettings
    }

    /// Reads `tracing`: the export of spans to an OpenTelemetry collector; default: none.
    static func readTracing(_ reader: ConfigurationReader?) -> TracingSection? {
        guard let reader else { return nil }
        defer { reader.finish() }
        // The URL to which spans are posted, with its path, which is usually /v1/traces.
        var endpoint: EndpointURL?
        if let text = reader.required("endpoint") {
            do throws(EndpointURL.Malformed) {
                endpoint = try EndpointURL(text)
            } catch {
                reader.report("endpoint", error.reason)
            }
        }
        let authority = readAuthority(reader)
        let headers = readHeaders(reader)
        // The ratio of calls with spans, from 0 to 1, among those without a sampled or unsampled parent; default: 0.01.
        let ratio = readRatio(reader) ?? TraceSampling.defaultRatio
        // Whether the sampled flag of a trusted proxy's trace decides for its calls; default: true.
        let followsParent = reader.bool("follow-parent") ?? true
        // The name of this service in traces; default: notify-gateway.
        let service = readService(reader)
        guard let endpoint else { return nil }
        return TracingSection(
            sampling: TraceSampling(ratio: ratio, followsParent: followsParent),
            export: TraceExportSettings(endpoint: endpoint, authority: authority, headers: headers, service: service))
    }

    /// Reads `headers`: further header fields of each request to the collector, by name. Their values are secret.
    private static func readHeaders(_ reader: ConfigurationReader) -> [TraceExportSettings.Header] {
        guard let mapping = reader.mapping("headers") else { return [] }
        var headers: [TraceExportSettings.Header] = []
        let entries = mapping.allEntries()
        if entries.count > TraceExportSettings.maximumHeaders {
            reader.report("headers", "must have at most \(TraceExportSettings.maximumHeaders) fields")
        }
        for entry in entries.prefix(TraceExportSettings.maximumHeaders) {
            guard TraceExportSettings.Header.isName(entry.name) else {
                mapping.report(at: entry.location, under: entry.name, "is not a usable header field name")
                continue
            }
            guard let value = mapping.string(of: entry.value, under: entry.name) else { continue }
            guard TraceExportSettings.Header.isValue(value) else {
                mapping.report(
                    entry.name, "must be 1 to 4096 visible ASCII characters, because it is sent in a header field")
                continue
            }
            if headers.contains(where: { $0.name.lowercased() == entry.name.lowercased() }) {
                mapping.report(at: entry.location, under: entry.name, "is a duplicate; names are not case-sensitive")
            }
            headers.append(TraceExportSettings.Header(entry.name, Secret(value.utf8)))
        }
        return headers
    }

    private static func readRatio(_ reader: ConfigurationReader) -> Double? {
        guard let text = reader.string("sample") else { return nil }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
            let ratio = Double(text), (0...1).contains(ratio)
        else {
            reader.report("sample", "must be a number from 0 to 1, such as 0.01")
            return nil
        }
        return ratio
    }

    private static func readService(_ reader: ConfigurationReader) -> String {
        guard reader.has("service") else { return reader.string("service") ?? TraceExportSettings.defaultService }
        guard let name = reader.required("service") else { return TraceExportSettings.defaultService }
        guard name.utf8.count <= TraceExportSettings.maximumServiceBytes,
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            reader.report(
                "service", "must be at most \(TraceExportSettings.maximumServiceBytes) visible ASCII characters")
            return TraceExportSettings.defaultService
        }
        return name
    }
}
