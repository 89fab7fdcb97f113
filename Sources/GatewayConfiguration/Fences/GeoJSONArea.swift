internal import GatewayCore
internal import GatewaySupport

/// The area of a GeoJSON text (RFC 7946): a `Polygon`, a `MultiPolygon`, a `GeometryCollection` of these, a `Feature` or a
/// `FeatureCollection`. The coordinates are those of WGS 84.
struct GeoJSONArea {
    /// The rings of each polygon, the outer boundary first.
    private(set) var polygons: [[LinearRing]] = []
    /// The number of positions of all rings.
    private(set) var positions = 0

    /// The maximum number of positions in one text.
    static let maximumPositions = 100_000
    /// The limits of the parser: members and elements of all positions with three numbers each, and properties. A
    /// position in a `FeatureCollection` of `GeometryCollection`s has the depth 10.
    private static let parser = JSONParser(depthLimit: 24, memberLimit: 6 * maximumPositions)

    /// The reason why a text is not an area.
    struct Fault: Error, Hashable {
        /// The offset in the text for a fault of its JSON; nil otherwise.
        var offset: Int?
        /// One line for an operator, with the path of the value in the text.
        var message: String

        init(at offset: Int? = nil, _ message: String) {
            self.offset = offset
            self.message = message
        }
    }

    /// Reads a text.
    init(_ text: [UInt8]) throws(Fault) {
        let root: JSONValue
        do throws(JSONParser.Fault) {
            root = try Self.parser.parse(text.span)
        } catch {
            throw Fault(error)
        }
        try Self.requireWGS84(root)
        try read(root, "")
        guard !polygons.isEmpty else { throw Fault("contains no polygon") }
    }

    private mutating func read(_ object: JSONValue, _ path: String) throws(Fault) {
        guard case .object = object else { throw Fault("\(Self.shown(path)) must be an object") }
        switch object["type"]?.string {
        case "FeatureCollection":
            for (index, feature) in try Self.array(object["features"], path + ".features").enumerated() {
                try read(feature, "\(path).features[\(index)]")
            }
        case "Feature":
            // A feature without a location (RFC 7946, section 3.2) adds nothing.
            guard let geometry = object["geometry"], geometry != .null else { return }
            try read(geometry, path + ".geometry")
        case "GeometryCollection":
            for (index, geometry) in try Self.array(object["geometries"], path + ".geometries").enumerated() {
                try read(geometry, "\(path).geometries[\(index)]")
            }
        case "Polygon":
            try readPolygon(object["coordinates"], path + ".coordinates")
        case "MultiPolygon":
            for (index, polygon) in try Self.array(object["coordinates"], path + ".coordinates").enumerated() {
                try readPolygon(polygon, "\(path).coordinates[\(index)]")
            }
        case "Point"?, "MultiPoint"?, "LineString"?, "MultiLineString"?:
            throw Fault("\(Self.shown(path)) is no area; use Polygon or MultiPolygon")
        default:
            throw Fault(
                "\(Self.shown(path)) is not a GeoJSON object; its type must be Polygon, MultiPolygon, "
                    + "GeometryCollection, Feature or FeatureCollection")
        }
    }

    private mutating func readPolygon(_ value: JSONValue?, _ path: String) throws(Fault) {
        var rings: [LinearRing] = []
        for (index, ring) in try Self.array(value, path).enumerated() {
            rings.append(try self.ring(ring, "\(path)[\(index)]"))
        }
        // A polygon without rings is null (RFC 7946, section 3.1).
        if !rings.isEmpty { polygons.append(rings) }
    }

    private mutating func ring(_ value: JSONValue, _ path: String) throws(Fault) -> LinearRing {
        let values = try Self.array(value, path)
        positions += values.count
        guard positions <= Self.maximumPositions else {
            throw Fault("has more than \(Self.maximumPositions) positions")
        }
        var points: [LinearRing.Point] = []
        points.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            // A third number is the altitude.
            guard case .array(let numbers) = value, numbers.count >= 2, let longitude = Self.number(numbers[0]),
                let latitude = Self.number(numbers[1])
            else { throw Fault("\(Self.shown(path))[\(index)] is not a position; write [longitude, latitude]") }
            points.append(LinearRing.Point(longitude: longitude, latitude: latitude))
        }
        do throws(LinearRing.Fault) {
            return try LinearRing(points)
        } catch {
            throw Fault("\(Self.shown(path))\(error.messageEnd)")
        }
    }

    /// Rejects the member `crs` of older GeoJSON if it names another coordinate system (RFC 7946, section 4).
    private static func requireWGS84(_ root: JSONValue) throws(Fault) {
        guard let system = root["crs"], system != .null else { return }
        let name = system["properties"]?["name"]?.string ?? ""
        guard name.hasSuffix("CRS84") || name.hasSuffix("EPSG::4326") || name == "EPSG:4326" else {
            throw Fault("crs must be WGS 84; convert the file, for example with `ogr2ogr -t_srs EPSG:4326`")
        }
    }

    private static func array(_ value: JSONValue?, _ path: String) throws(Fault) -> [JSONValue] {
        guard case .array(let values)? = value else { throw Fault("\(shown(path)) must be a list") }
        return values
    }

    private static func number(_ value: JSONValue) -> Double? {
        if case .number(let text) = value { Double(json: text) } else { nil }
    }

    /// Returns the path without its first dot, or words for the root.
    private static func shown(_ path: String) -> String { path.isEmpty ? "the file" : String(path.dropFirst()) }
}

extension GeoJSONArea.Fault {
    init(_ fault: JSONParser.Fault) {
        switch fault {
        case .malformed(let offset): self.init(at: offset, "is not JSON")
        case .loneSurrogate(let offset): self.init(at: offset, "has half of a surrogate pair")
        case .tooLarge: self.init("is nested too deeply or has too many values")
        case .duplicateName: self.init("has an object in which a name occurs twice; names are compared without case")
        }
    }
}

extension LinearRing.Fault {
    /// The end of a message that begins with the path of the ring.
    fileprivate var messageEnd: String {
        switch self {
        case .tooFewPoints: " has fewer than 4 positions"
        case .longitude(let index): "[\(index)] has a longitude beyond -360 to 360; write [longitude, latitude]"
        case .latitude(let index): "[\(index)] has a latitude beyond -90 to 90; write [longitude, latitude]"
        case .open: " is not closed; its last position must equal the first"
        case .windsRepeatedly: " goes around the Earth more than once"
        }
    }
}
