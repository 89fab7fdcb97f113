import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

/// The schema of the settings: no other role may put something there that statements of the gateway would use.
@Suite(.enabled(if: hasServer), .serialized) struct SchemaTests {
    /// A role that other people have in the same database.
    private static let other = "eve"
    private static let password = "eve has one"

    private let server: PostgreSQLServer
    private let settings: PostgreSQLSettings
    private let schema: String

    init() throws {
        server = try #require(PostgreSQLServer.shared())
        settings = try server.freshDatabase()
        schema = try #require(settings.schema)
        try server.run(
            """
            DO $$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(Self.other)') THEN
                    CREATE ROLE \(Self.other) LOGIN PASSWORD '\(Self.password)';
                END IF;
            END $$
            """)
    }

    private func refusal(_ change: (inout PostgreSQLSettings) -> Void = { _ in }) throws -> PostgreSQLError? {
        var settings = settings
        change(&settings)
        return try failure { try PostgreSQLConnection.connect(settings, within: .seconds(10)).close() }
    }

    /// Runs statements as the other role.
    private func runAsOther(_ script: String) throws {
        var settings = settings
        (settings.user, settings.password, settings.schema) = (Self.other, Secret(Self.password.utf8), nil)
        try PostgreSQLConnection.connect(settings, within: .seconds(10)).simple(script)
    }

    @Test func `Names are found in the server's own schema, then in the role's, then among temporary objects`() throws {
        let connection = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        try connection.simple("CREATE TABLE found (place text); INSERT INTO found VALUES ('schema')")
        try connection.simple(
            "CREATE TEMPORARY TABLE found (place text); INSERT INTO pg_temp.found VALUES ('temporary')")
        #expect(try connection.rows("SELECT place FROM found") == [[.text("schema")]])
        try connection.simple("CREATE FUNCTION upper(text) RETURNS text LANGUAGE sql AS $$ SELECT 'planted' $$")
        #expect(try connection.rows("SELECT upper('a'::text)") == [[.text("A")]])
        #expect(try connection.rows("SELECT current_schema()::text") == [[.text(schema)]])
    }

    @Test func `A schema that does not exist or belongs to another role is refused with what to do`() throws {
        let missing = try refusal { $0.schema = "no such schema" }
        #expect(missing?.kind == .rejected)
        #expect(missing?.message.contains(#"CREATE SCHEMA "no such schema" AUTHORIZATION "gateway""#) == true)
        for schema in ["public", "pg_catalog", "information_schema"] {
            let error = try refusal { $0.schema = schema }
            #expect(error?.kind == .rejected && error?.message.contains("does not belong to the role") == true)
        }
        try server.run("ALTER SCHEMA \(schema) OWNER TO \(Self.other)")
        #expect(try refusal()?.kind == .rejected)
    }

    @Test(arguments: ["PUBLIC", SchemaTests.other])
    func `A schema in which others may create objects is refused`(_ role: String) throws {
        try server.run("GRANT CREATE ON SCHEMA \(schema) TO \(role)")
        let error = try refusal()
        #expect(error?.kind == .rejected)
        #expect(error?.message.contains("REVOKE CREATE ON SCHEMA \"\(schema)\" FROM \(role)") == true)
        try server.run("REVOKE CREATE ON SCHEMA \(schema) FROM \(role)")
        try server.run("GRANT USAGE ON SCHEMA \(schema) TO \(role); GRANT ALL ON SCHEMA \(schema) TO postgres")
        #expect(try refusal() == nil)
    }

    @Test(arguments: [
        "CREATE FUNCTION S.planted() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE TABLE S.planted ()",
        "CREATE VIEW S.planted AS SELECT 1", "CREATE TYPE S.planted AS ENUM ('a')", "CREATE DOMAIN S.planted AS int",
        "CREATE OPERATOR S.### (PROCEDURE = pg_catalog.int4eq, LEFTARG = int4, RIGHTARG = int4)",
        "CREATE COLLATION S.planted FROM \"C\"", "CREATE SEQUENCE S.planted",
    ])
    func `An object that another role has left in the schema is refused`(_ statement: String) throws {
        try server.run("GRANT ALL ON SCHEMA \(schema) TO \(Self.other)")
        try runAsOther(statement.replacing("S.", with: "\(schema)."))
        try server.run("REVOKE CREATE ON SCHEMA \(schema) FROM \(Self.other)")
        let error = try refusal()
        #expect(error?.kind == .rejected && error?.message.contains("an object of another role") == true)
    }

    @Test func `A function for exactly the gateway's types is never called (CVE-2018-1058)`() throws {
        let connection = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        try connection.simple("CREATE TABLE store_version (version int); INSERT INTO store_version VALUES (1)")
        try server.run("GRANT ALL ON SCHEMA \(schema), public TO \(Self.other)")
        let planted = """
            CREATE FUNCTION S.to_jsonb(\(schema).store_version) RETURNS jsonb LANGUAGE plpgsql
                AS $$ BEGIN RAISE EXCEPTION 'called as %', current_user; END $$
            """
        let read = "SELECT to_jsonb(store_version) ->> 'version' FROM store_version"
        try runAsOther(planted.replacing("S.", with: "public."))
        #expect(try connection.rows(read) == [[.text("1")]])
        #expect(try refusal()?.message.contains("lets eve create objects there") == true)
        // The attack itself works where others may create, so the refusal above is what prevents it.
        try runAsOther(planted.replacing("S.", with: "\(schema)."))
        #expect(try failure { try connection.rows("\(read) LIMIT 1") }?.message.contains("called as gateway") == true)
        try server.run("REVOKE CREATE ON SCHEMA \(schema) FROM \(Self.other)")
        #expect(try refusal()?.message.contains("to_jsonb") == true)
        try server.run("DROP FUNCTION public.to_jsonb(\(schema).store_version)")
    }
}
