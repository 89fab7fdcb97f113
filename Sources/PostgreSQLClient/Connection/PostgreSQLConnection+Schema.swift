extension PostgreSQLConnection {
    /// Verifies that statements find no objects of other roles, if the settings name a schema. Closes the connection otherwise.
    ///
    /// Statements name tables and functions without a schema, so they find them in `pg_catalog` and in the schema of the settings.
    /// PostgreSQL chooses a function with exactly fitting types wherever it stands: whoever may create one in that schema has
    /// the rights of everybody whose statements look there (CVE-2018-1058). So the schema must belong to the role of the
    /// session, without objects of other roles, and nobody else may create objects there. Superusers need no such way.
    ///
    /// - Throws: ``PostgreSQLError``, of the kind `rejected` with what to do.
    func verifySchema(_ settings: PostgreSQLSettings) throws(PostgreSQLError) {
        guard let schema = settings.schema else { return }
        do {
            var found: [PostgreSQLValue]?
            try forEachRow(Self.schemaStatement, [.text(schema)]) { _, values in found = values }
            let (name, role) = (QuotedIdentifier(schema).text, QuotedIdentifier(settings.user).text)
            guard let reason = Self.fault(found, name, role: role) else { return }
            throw PostgreSQLError(.rejected, "the schema \(name) \(reason)")
        } catch {
            close()
            throw error as? PostgreSQLError ?? Self.unexpectedResult
        }
    }

    /// Returns what is wrong with the schema, and what to do; nil if nothing is.
    ///
    /// - Parameter found: The row of ``schemaStatement``.
    private static func fault(_ found: [PostgreSQLValue]?, _ name: String, role: String) -> String? {
        guard let found, found.count == 4 else {
            return "does not exist; a superuser creates it: CREATE SCHEMA \(name) AUTHORIZATION \(role)"
        }
        guard found[0] == .integer(1) else {
            return "does not belong to the role \(role), so others could run statements with its rights; use a schema "
                + "of its own: CREATE SCHEMA notify_gateway AUTHORIZATION \(role)"
        }
        if case .text(let other) = found[1] {
            return "lets \(other) create objects there, and so run statements with the rights of \(role); REVOKE "
                + "CREATE ON SCHEMA \(name) FROM \(other)"
        }
        if case .text(let object) = found[2] {
            return "contains an object of another role, \(object), which statements of \(role) could use; drop it"
        }
        return found[3] == .integer(1)
            ? nil : "is not the first one of the session: a pooler in between drops the session's settings"
    }

    /// Whether the role of the session owns the schema, another grantee that may create there, another role's object there, and
    /// whether names are found in `pg_catalog` and then in the schema. No row if the schema does not exist.
    ///
    /// Every name is qualified, and every operator fits one of `pg_catalog` exactly, so that the schema cannot change the
    /// meaning.
    private static let schemaStatement = """
        SELECT n.nspowner = r.oid,
            (SELECT CASE WHEN a.grantee = 0::pg_catalog.oid THEN 'PUBLIC'
                    ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)::pg_catalog.text) END
                FROM pg_catalog.aclexplode(n.nspacl) AS a
                WHERE a.privilege_type = 'CREATE'::pg_catalog.text AND a.grantee <> n.nspowner
                    AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS s WHERE s.oid = a.grantee AND s.rolsuper)
                LIMIT 1),
            (SELECT o.name FROM (
                    SELECT proname::pg_catalog.text AS name, proowner AS owner, pronamespace AS place FROM pg_catalog.pg_proc
                    UNION ALL SELECT relname::pg_catalog.text, relowner, relnamespace FROM pg_catalog.pg_class
                    UNION ALL SELECT oprname::pg_catalog.text, oprowner, oprnamespace FROM pg_catalog.pg_operator
                    UNION ALL SELECT typname::pg_catalog.text, typowner, typnamespace FROM pg_catalog.pg_type
                    UNION ALL SELECT collname::pg_catalog.text, collowner, collnamespace FROM pg_catalog.pg_collation
                ) AS o
                WHERE o.place = n.oid AND o.owner <> n.nspowner
                    AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS s WHERE s.oid = o.owner AND s.rolsuper)
                LIMIT 1),
            (pg_catalog.current_schemas(true))[1] = 'pg_catalog'::pg_catalog.name
                AND (pg_catalog.current_schemas(true))[2] = n.nspname
        FROM pg_catalog.pg_namespace AS n, pg_catalog.pg_roles AS r
        WHERE n.nspname = ?::pg_catalog.text AND r.rolname = current_user
        """
}
