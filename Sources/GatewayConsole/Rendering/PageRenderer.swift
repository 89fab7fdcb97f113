internal import Charts
internal import GatewayCore
internal import GatewaySupport
internal import Hummingbird
internal import Mustache
internal import NIOCore

/// Renders the pages from the templates in `Resources`, which are compiled into the program.
struct PageRenderer: Sendable {
    private let library: MustacheLibrary
    /// Whether every user has a page of their own.
    private let isSelfService: @Sendable () -> Bool
    /// Whether several gateways may share the store.
    private let hasNodes: Bool
    /// Returns the time of day, which each page states.
    private let now: @Sendable () -> WallTime

    /// Parses the templates. A template that cannot be parsed is a fault of the program, which the tests find.
    init(
        isSelfService: @escaping @Sendable () -> Bool, hasNodes: Bool, now: @escaping @Sendable () -> WallTime
    ) {
        self.isSelfService = isSelfService
        self.hasNodes = hasNodes
        self.now = now
        MustacheContentTypes.register(EscapedHTML(), named: EscapedHTML.name)
        var library = MustacheLibrary()
        for (name, bytes) in Resource.templates {
            // Each template names its escaping, also where it is a part of another.
            let text = "{{% CONTENT_TYPE:\(EscapedHTML.name)}}" + String(decoding: bytes, as: UTF8.self)
            guard let template = try? MustacheTemplate(string: text) else {
                preconditionFailure("the template \(name) cannot be parsed")
            }
            library.register(template, named: name)
        }
        self.library = library
    }

    /// Returns a page inside the frame with navigation, or without it for a user who is not logged in.
    ///
    /// - Parameters:
    ///   - template: The name of the page's template.
    ///   - title: The title of the page.
    ///   - session: The session of the user, if there is one, and the role.
    func page(
        _ template: String, title: String, for session: (session: ConsoleSession, role: ConsoleRole)? = nil,
        _ model: PageModel, status: HTTPResponse.Status = .ok
    ) -> Response {
        var model = model
        model["title"] = title
        model["style"] = Resource.style.path
        model["script"] = Resource.script.path
        model["icon"] = Resource.icon.path
        model["hasNodes"] = hasNodes
        model["now"] = PageValues.time(now().description)
        if let (session, role) = session {
            // The script of a page asks there for changes.
            if model["live"] == nil { model["live"] = "/live" }
            model["session"] =
                [
                    "user": session.user.user.text, "isOperator": role == .operator, "mayRead": role >= .viewer,
                    "isSelfService": isSelfService(), "hasNodes": hasNodes, "formToken": session.formToken,
                ] as PageModel
            model["formToken"] = session.formToken
            model["isOperator"] = role == .operator
            model["at-\(template)"] = true
        }
        let content = library.render(model, withTemplate: template) ?? ""
        model["content"] = content
        let text = library.render(model, withTemplate: "frame") ?? ""
        return Response(
            status: status, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

/// A file of the console that is compiled into the program.
struct Resource: Sendable {
    /// The path, which changes with the content, so that browsers may keep it.
    let path: String
    let contentType: String
    let bytes: [UInt8]

    private init(_ name: String, _ contentType: String, _ bytes: [UInt8]) {
        let digest = bytes.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        path = "/assets/\(String(digest, radix: 36))-\(name)"
        self.contentType = contentType
        self.bytes = bytes
    }

    static let style = Resource(
        "console.css", "text/css; charset=utf-8", Charts.styleSheetBytes + PackageResources.console_css)
    static let script = Resource("console.js", "text/javascript; charset=utf-8", PackageResources.console_js)
    static let icon = Resource("icon.svg", "image/svg+xml", PackageResources.icon_svg)
    /// The resources that browsers request.
    static let all = [style, script, icon]

    /// The templates by name.
    static let templates: [(name: String, bytes: [UInt8])] = [
        ("frame", PackageResources.frame_mustache), ("login", PackageResources.login_mustache),
        ("sends", PackageResources.sends_mustache), ("refusals", PackageResources.refusals_mustache),
        ("overview", PackageResources.overview_mustache), ("calls", PackageResources.calls_mustache),
        ("continue", PackageResources.continue_mustache),
        ("call", PackageResources.call_mustache), ("users", PackageResources.users_mustache),
        ("user", PackageResources.user_mustache), ("confirm", PackageResources.confirm_mustache),
        ("policy", PackageResources.policy_mustache), ("journal", PackageResources.journal_mustache),
        ("pairs", PackageResources.pairs_mustache), ("problem", PackageResources.problem_mustache),
        ("me", PackageResources.me_mustache), ("nodes", PackageResources.nodes_mustache),
    ]
}
