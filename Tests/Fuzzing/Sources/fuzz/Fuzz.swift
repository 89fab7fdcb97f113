internal import Glibc

/// A parser under test. Its property must hold for every input; a property that fails ends the process, which libFuzzer reports as a
/// crash and keeps the input of.
protocol FuzzTarget: Sendable {
    /// Parses the input and checks the property of the target.
    static func run(_ input: [UInt8])
}

/// Every target by the name that the environment variable `FUZZ_TARGET` selects it with.
let targets: [String: any FuzzTarget.Type] = [
    "request-framer": RequestFramerTarget.self,
    "request-framer-and-nio": RequestFramerDifferentialTarget.self,
    "response-framer": ResponseFramerTarget.self,
    "http2-fields": HTTP2FieldsTarget.self,
    "proxy-header": ProxyHeaderTarget.self,
    "forwarded-fields": ForwardedFieldsTarget.self,
    "json": JSONTarget.self,
    "token": TokenTarget.self,
    "yaml": YAMLTarget.self,
    "journal-line": JournalLineTarget.self,
    "hub-export": HubExportTarget.self,
    "hub-feed": HubFeedTarget.self,
    "geojson": GeoJSONTarget.self,
]

/// The target of this process; a missing or unknown name ends the process with the list of names.
private let selected: any FuzzTarget.Type = {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = targets[name] else {
        let message = Array("fuzz: FUZZ_TARGET is one of: \(targets.keys.sorted().joined(separator: ", "))\n".utf8)
        _ = message.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(2)
    }
    return target
}()

/// Called by libFuzzer once an input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    selected.run(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}

/// Ends the process because the property of a target does not hold.
func propertyFails(_ description: @autoclosure () -> String) -> Never {
    fatalError("The property does not hold: \(description())")
}
