internal import GatewayCore
internal import GatewaySupport

/// The parameters `latitude` and `longitude` of a send, which state the sender's position.
enum PositionParameters {
    /// Returns the position, or nil if the query has neither parameter.
    ///
    /// A number has the grammar of JSON. That includes exponents, because the standard libraries of Java and C# write
    /// small numbers as `-5.0E-4` and `5E-05`.
    static func read(_ query: QueryParameters) throws(Rejection) -> Position? {
        switch (query.value("latitude"), query.value("longitude")) {
        case (nil, nil):
            return nil
        case (let latitude?, let longitude?):
            guard let latitude = Double(json: latitude), let longitude = Double(json: longitude),
                let position = Position(latitude: latitude, longitude: longitude)
            else {
                throw Rejection(
                    .malformedRequest, "the position is malformed or out of range",
                    hint: "latitude must be a number from -90 to 90, longitude one from -180 to 180.")
            }
            return position
        case (_?, nil), (nil, _?):
            throw Rejection(
                .malformedRequest, "only one of latitude and longitude is present",
                hint: "latitude and longitude must be given together or not at all.")
        }
    }
}
