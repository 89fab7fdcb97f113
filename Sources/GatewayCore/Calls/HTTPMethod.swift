/// The request methods that some route knows (RFC 9110, section 9). Any other word is a method without a route.
public enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    /// `GET`
    case get = "GET"
    /// `POST`
    case post = "POST"
    /// `PUT`
    case put = "PUT"
    /// `DELETE`
    case delete = "DELETE"
}
