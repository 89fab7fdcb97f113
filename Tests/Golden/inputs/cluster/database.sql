SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA notify_gateway;
ALTER SCHEMA notify_gateway OWNER TO gateway;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE notify_gateway.account (
    authenticator text NOT NULL COLLATE pg_catalog."C",
    "user" text NOT NULL COLLATE pg_catalog."C",
    mark bytea NOT NULL,
    since bigint NOT NULL,
    CONSTRAINT account_mark_check CHECK ((octet_length(mark) = 16))
);
ALTER TABLE notify_gateway.account OWNER TO gateway;
CREATE TABLE notify_gateway.change (
    number bigint NOT NULL,
    node text NOT NULL COLLATE pg_catalog."C",
    recorded bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    kind text NOT NULL,
    "user" text COLLATE pg_catalog."C",
    subject text COLLATE pg_catalog."C",
    issuer text COLLATE pg_catalog."C",
    "time" bigint
);
ALTER TABLE notify_gateway.change OWNER TO gateway;
ALTER TABLE notify_gateway.change ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME notify_gateway.change_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE UNLOGGED TABLE notify_gateway.claim (
    key bytea NOT NULL,
    instance text NOT NULL COLLATE pg_catalog."C",
    fence bigint NOT NULL,
    number bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='10000');
ALTER TABLE notify_gateway.claim OWNER TO gateway;
CREATE TABLE notify_gateway.debt (
    key bytea NOT NULL,
    arrival bigint NOT NULL,
    maximum bigint NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE notify_gateway.debt OWNER TO gateway;
CREATE TABLE notify_gateway.debt_change (
    number bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    pattern bytea NOT NULL
);
ALTER TABLE notify_gateway.debt_change OWNER TO gateway;
ALTER TABLE notify_gateway.debt_change ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME notify_gateway.debt_change_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE notify_gateway.hand_over (
    service text NOT NULL COLLATE pg_catalog."C",
    handle bytea NOT NULL,
    at bigint NOT NULL,
    owner text COLLATE pg_catalog."C",
    former text COLLATE pg_catalog."C"
);
ALTER TABLE notify_gateway.hand_over OWNER TO gateway;
CREATE TABLE notify_gateway.imported (
    id text NOT NULL COLLATE pg_catalog."C",
    content bytea NOT NULL,
    verdict text NOT NULL,
    CONSTRAINT imported_content_check CHECK ((octet_length(content) = 16))
);
ALTER TABLE notify_gateway.imported OWNER TO gateway;
CREATE TABLE notify_gateway.journal_checkpoint (
    id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    hash bytea NOT NULL,
    at bigint NOT NULL,
    CONSTRAINT journal_checkpoint_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT journal_checkpoint_number_check CHECK ((number > 0))
);
ALTER TABLE notify_gateway.journal_checkpoint OWNER TO gateway;
CREATE TABLE notify_gateway.journal_copy (
    instance text NOT NULL COLLATE pg_catalog."C",
    chain integer NOT NULL,
    next bigint NOT NULL,
    hash bytea NOT NULL,
    first bigint NOT NULL,
    key text NOT NULL,
    CONSTRAINT journal_copy_hash_check CHECK ((octet_length(hash) = 32))
);
ALTER TABLE notify_gateway.journal_copy OWNER TO gateway;
CREATE TABLE notify_gateway.journal_count (
    instance text NOT NULL COLLATE pg_catalog."C",
    chain integer NOT NULL,
    next bigint NOT NULL
);
ALTER TABLE notify_gateway.journal_count OWNER TO gateway;
CREATE TABLE notify_gateway.journal_line (
    instance text NOT NULL COLLATE pg_catalog."C",
    chain integer NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    kind text COLLATE pg_catalog."C",
    "user" text COLLATE pg_catalog."C",
    recipient text COLLATE pg_catalog."C",
    action text COLLATE pg_catalog."C",
    result text COLLATE pg_catalog."C",
    call text COLLATE pg_catalog."C",
    count bigint,
    ms bigint,
    line text NOT NULL
);
ALTER TABLE notify_gateway.journal_line OWNER TO gateway;
CREATE TABLE notify_gateway.keyed_send (
    "user" text NOT NULL COLLATE pg_catalog."C",
    target text NOT NULL COLLATE pg_catalog."C",
    service text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    message bytea NOT NULL,
    at bigint NOT NULL,
    instance text NOT NULL COLLATE pg_catalog."C",
    fence bigint NOT NULL,
    number bigint NOT NULL,
    state text NOT NULL,
    result text,
    response bytea,
    CONSTRAINT keyed_send_state_check CHECK ((state = ANY (ARRAY['in-flight'::text, 'completed'::text, 'unknown'::text])))
);
ALTER TABLE notify_gateway.keyed_send OWNER TO gateway;
CREATE TABLE notify_gateway.label (
    "user" text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    registration text NOT NULL COLLATE pg_catalog."C",
    used bigint NOT NULL
);
ALTER TABLE notify_gateway.label OWNER TO gateway;
CREATE TABLE notify_gateway.lease (
    name text NOT NULL COLLATE pg_catalog."C",
    instance text NOT NULL COLLATE pg_catalog."C",
    fence bigint NOT NULL
);
ALTER TABLE notify_gateway.lease OWNER TO gateway;
CREATE TABLE notify_gateway.minute_count (
    minute bigint NOT NULL,
    class text NOT NULL COLLATE pg_catalog."C",
    latency integer NOT NULL,
    count bigint NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE notify_gateway.minute_count OWNER TO gateway;
CREATE TABLE notify_gateway.node (
    instance text NOT NULL COLLATE pg_catalog."C",
    host text NOT NULL,
    program text NOT NULL,
    fence bigint NOT NULL,
    started bigint NOT NULL,
    until bigint NOT NULL,
    is_exclusive boolean NOT NULL,
    applied bigint NOT NULL,
    accounts bytea,
    timeline text COLLATE pg_catalog."C",
    compared bigint
);
ALTER TABLE notify_gateway.node OWNER TO gateway;
CREATE TABLE notify_gateway.node_commit (
    instance text NOT NULL COLLATE pg_catalog."C",
    lane text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL
)
WITH (fillfactor='20');
ALTER TABLE notify_gateway.node_commit OWNER TO gateway;
CREATE TABLE notify_gateway.pair_count (
    bucket bigint NOT NULL,
    sender text NOT NULL COLLATE pg_catalog."C",
    recipient text NOT NULL COLLATE pg_catalog."C",
    accepted bigint NOT NULL,
    failed bigint NOT NULL,
    refused bigint NOT NULL,
    last bigint NOT NULL
)
WITH (fillfactor='80');
ALTER TABLE notify_gateway.pair_count OWNER TO gateway;
CREATE TABLE notify_gateway.pair_other (
    bucket bigint NOT NULL,
    accepted bigint NOT NULL,
    failed bigint NOT NULL,
    refused bigint NOT NULL
);
ALTER TABLE notify_gateway.pair_other OWNER TO gateway;
CREATE TABLE notify_gateway.property (
    name text NOT NULL,
    value bytea NOT NULL
);
ALTER TABLE notify_gateway.property OWNER TO gateway;
CREATE TABLE notify_gateway.provider_logout (
    issuer text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    value text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    CONSTRAINT provider_logout_kind_check CHECK ((kind = ANY (ARRAY['session'::text, 'subject'::text, 'subject-without-session'::text])))
);
ALTER TABLE notify_gateway.provider_logout OWNER TO gateway;
CREATE TABLE notify_gateway.registration (
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    service text COLLATE pg_catalog."C",
    handle bytea,
    state text NOT NULL,
    created bigint NOT NULL,
    last_seen bigint NOT NULL,
    reason text,
    login text COLLATE pg_catalog."C",
    authenticator text COLLATE pg_catalog."C",
    undeleted bigint,
    import_unconfirmed bigint,
    upstream text COLLATE pg_catalog."C",
    CONSTRAINT registration_check CHECK (((service IS NULL) = (handle IS NULL))),
    CONSTRAINT registration_check1 CHECK (((state = 'reserved'::text) OR (handle IS NOT NULL))),
    CONSTRAINT registration_check2 CHECK (((authenticator IS NULL) = (login IS NULL))),
    CONSTRAINT registration_handle_check CHECK ((octet_length(handle) = 16)),
    CONSTRAINT registration_state_check CHECK ((state = ANY (ARRAY['reserved'::text, 'live'::text, 'deleting'::text])))
);
ALTER TABLE notify_gateway.registration OWNER TO gateway;
CREATE TABLE notify_gateway.revoked_token (
    "user" text NOT NULL COLLATE pg_catalog."C",
    token text NOT NULL COLLATE pg_catalog."C",
    until bigint NOT NULL
);
ALTER TABLE notify_gateway.revoked_token OWNER TO gateway;
CREATE TABLE notify_gateway.revoked_user (
    "user" text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
);
ALTER TABLE notify_gateway.revoked_user OWNER TO gateway;
CREATE TABLE notify_gateway.session (
    id text NOT NULL COLLATE pg_catalog."C",
    "user" text NOT NULL COLLATE pg_catalog."C",
    login text NOT NULL COLLATE pg_catalog."C",
    authenticator text NOT NULL COLLATE pg_catalog."C",
    device text,
    began bigint NOT NULL,
    ends bigint NOT NULL,
    renewed bigint NOT NULL,
    issuer text,
    provider_session text,
    CONSTRAINT session_check CHECK (((provider_session IS NULL) OR (issuer IS NOT NULL)))
);
ALTER TABLE notify_gateway.session OWNER TO gateway;
CREATE TABLE notify_gateway.store_version (
    id integer NOT NULL,
    version bigint NOT NULL,
    usable_from bigint DEFAULT 1 NOT NULL,
    CONSTRAINT store_version_id_check CHECK ((id = 1))
);
ALTER TABLE notify_gateway.store_version OWNER TO gateway;
CREATE TABLE notify_gateway.stray (
    id text NOT NULL COLLATE pg_catalog."C",
    service text COLLATE pg_catalog."C",
    handle bytea,
    reason text NOT NULL,
    undeleted bigint,
    owner text COLLATE pg_catalog."C",
    upstream text COLLATE pg_catalog."C",
    CONSTRAINT stray_check CHECK (((service IS NULL) = (handle IS NULL))),
    CONSTRAINT stray_handle_check CHECK ((octet_length(handle) = 16))
);
ALTER TABLE notify_gateway.stray OWNER TO gateway;
CREATE TABLE notify_gateway.text (
    id bigint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C",
    key bigint NOT NULL,
    delivery bigint NOT NULL,
    expiry bigint NOT NULL,
    fetched bigint,
    size bigint NOT NULL,
    sealed bytea NOT NULL
);
ALTER TABLE notify_gateway.text OWNER TO gateway;
CREATE TABLE notify_gateway.update_attempt (
    registration text NOT NULL COLLATE pg_catalog."C",
    "user" text NOT NULL COLLATE pg_catalog."C",
    login text COLLATE pg_catalog."C",
    authenticator text COLLATE pg_catalog."C",
    at bigint NOT NULL,
    CONSTRAINT update_attempt_check CHECK (((authenticator IS NULL) = (login IS NULL)))
);
ALTER TABLE notify_gateway.update_attempt OWNER TO gateway;
COPY notify_gateway.account (authenticator, "user", mark, since) FROM stdin;
static-users	erin	\\xf41ace55a91012b82e35e1b479784215	1793613601656702
static-users	carol	\\xf41ace55a91012b82e35e1b479784215	1793613601656702
static-users	bob	\\xf41ace55a91012b82e35e1b479784215	1793613601656702
static-users	alice	\\xf41ace55a91012b82e35e1b479784215	1793613601656702
static-users	frank	\\xf41ace55a91012b82e35e1b479784215	1793613601656702
static-users	grace	\\xf41ace55a91012b82e35e1b479784215	1793613601656702
\.
COPY notify_gateway.change (number, node, recorded, kind, "user", subject, issuer, "time") FROM stdin;
1	575cebaa7c6c2651	1793613603554251	session	carol	PCOjL_WZKrmxF4J65pZcvA	\N	\N
2	60954e681a178ff9	1793613603587110	user	carol	\N	\N	1793613603584189
\.
COPY notify_gateway.claim (key, instance, fence, number) FROM stdin;
\.
COPY notify_gateway.debt (key, arrival, maximum) FROM stdin;
\\x08bd3f9090f5a5516e6215c49c22f7196e6215c49c22f71900000000000000000000000000	1793615403131353061	57600000000000
\\x3383e3d16925e4876e6215c49c22f719000000000000000000000000000000000000000000	1793613963131353061	57600000000000
\\x6e2ab46735e5da386e6215c49c22f719000000000000000000000000000000000000000000	1793613603456865991	960000000000
\\x6e2ab46735e5da38976decf8eb6b8ab4000000000000000000000000000000000000000000	1793613603474090554	960000000000
\\xae76250c476f876c00000000000000006e6215c49c22f71900000000000000000000000000	1793624403104321784	57600000000000
\\x08bd3f9090f5a55151e6e279aea8b599976decf8eb6b8ab400000000000000000000000000	1793614203388771419	57600000000000
\\xae76250c476f876c0000000000000000976decf8eb6b8ab400000000000000000000000000	1793615403388771419	57600000000000
\\x08bd3f9090f5a55151e6e279aea8b59951e6e279aea8b59900000000000000000000000000	1793614203627509155	57600000000000
\\x08bd3f9090f5a55151e6e279aea8b5996e6215c49c22f71900000000000000000000000000	1793616003104321784	57600000000000
\\x08bd3f9090f5a55151e6e279aea8b59993da78c38978003200000000000000000000000000	1793614203627509155	57600000000000
\\x3383e3d16925e48751e6e279aea8b599000000000000000000000000000000000000000000	1793614443104321784	57600000000000
\\x6e2ab46735e5da3851e6e279aea8b599000000000000000000000000000000000000000000	1793613603738834020	960000000000
\\x6e2ab46735e5da3893da78c389780032000000000000000000000000000000000000000000	1793613603681912423	960000000000
\\xae76250c476f876c000000000000000051e6e279aea8b59900000000000000000000000000	1793615403627509155	57600000000000
\\xae76250c476f876c000000000000000093da78c38978003200000000000000000000000000	1793615403627509155	57600000000000
\.
COPY notify_gateway.debt_change (number, at, kind, pattern) FROM stdin;
1	1793613602752558	known-login	\\x056e6215c49c22f7190000000000000000e1434ef40ead52f20000000000
3	1793613603148287	known-login	\\x0551e6e279aea8b5990000000000000000e1434ef40ead52f20000000000
8	1793613603412321	known-login	\\x05976decf8eb6b8ab40000000000000000e1434ef40ead52f20000000000
9	1793613603625519	known-logins-removed	\\x0193da78c389780032000000000000000000000000000000000000000000
10	1793613603637983	known-logins-removed	\\x0193da78c389780032000000000000000000000000000000000000000000
11	1793613603686801	known-logins-removed	\\x0193da78c389780032000000000000000000000000000000000000000000
\.
COPY notify_gateway.hand_over (service, handle, at, owner, former) FROM stdin;
\.
COPY notify_gateway.imported (id, content, verdict) FROM stdin;
\.
COPY notify_gateway.journal_checkpoint (id, number, hash, at) FROM stdin;
575cebaa7c6c2651	24	\\x70c982f2707822a6fa5484b26c1767e8f107edba00fc255fa33e4127278127e5	1793613604785391
60954e681a178ff9	15	\\xf95294cd61dad9b03a8f3fc007f6301e41d3dce4d5e6396368bc6dcb6119d496	1793613605829582
\.
COPY notify_gateway.journal_copy (instance, chain, next, hash, first, key) FROM stdin;
60954e681a178ff9	0	14	\\xa3ea2539e5256285af7e44a2a46880525c8183c3dd85f28bd1da03d37c9da7ca	0	CRydC2et+PPEwajIyVo6flPBKM1GevizjS4PVvDPl70=
3d6394703579701b	0	19	\\x07d7a6559c972f8f60fd1ee23bb1d1b8302075a6ce4052db7d2a59d6259e69b5	0	zh6taANIy5WqB6RgDrwGSXJAToeE/z8UEFpEDgLOsQI=
575cebaa7c6c2651	0	23	\\x867a517e4cacefde32dd3a3ea632d8d90585d76feafdf1645ba489b1f5602bde	0	mSp7XW1hTVBm5dXNZ0tQGGkVpY/n6lzGETAY1cLWL5E=
\.
COPY notify_gateway.journal_count (instance, chain, next) FROM stdin;
60954e681a178ff9	0	14
3d6394703579701b	0	19
575cebaa7c6c2651	0	23
\.
COPY notify_gateway.journal_line (instance, chain, number, at, kind, "user", recipient, action, result, call, count, ms, line) FROM stdin;
60954e681a178ff9	0	1	1793613601615427	start	\N	\N	\N	\N	\N	\N	\N	{"seq":1,"at":"2026-11-02T10:00:01.615427Z","kind":"start","format":1,"prev":"0000000000000000000000000000000000000000000000000000000000000000","hash":"0c87ce6a898ba4ab4453d9a00041a0b2b0d66631f267b75472add8c5083ebe64"}
575cebaa7c6c2651	0	1	1793613601957007	start	\N	\N	\N	\N	\N	\N	\N	{"seq":1,"at":"2026-11-02T10:00:01.957007Z","kind":"start","format":1,"prev":"0000000000000000000000000000000000000000000000000000000000000000","hash":"badbbd75e4b03923dbdc87328357140f4bfbb5900228070d62b1cd5a6d77df56"}
575cebaa7c6c2651	0	2	1793613602140876	node-head	\N	\N	\N	\N	\N	\N	\N	{"seq":2,"at":"2026-11-02T10:00:02.140876Z","kind":"node-head","node":"60954e681a178ff9","host":"gateway-host","chain":0,"through":1,"head":"0c87ce6a898ba4ab4453d9a00041a0b2b0d66631f267b75472add8c5083ebe64","key":"3379bb8463fdc19e","prev":"badbbd75e4b03923dbdc87328357140f4bfbb5900228070d62b1cd5a6d77df56","hash":"2fa6fd93d694ced248bf9fca3bbf24589d7038d7c655700815784ccf7fb2bcae"}
3d6394703579701b	0	1	1793613602509032	start	\N	\N	\N	\N	\N	\N	\N	{"seq":1,"at":"2026-11-02T10:00:02.509032Z","kind":"start","format":1,"prev":"0000000000000000000000000000000000000000000000000000000000000000","hash":"4ec4ec9259dcb6b10b5a9113d3f1f5a7cab5638eb33d8a844d9bc6ca726a683d"}
3d6394703579701b	0	2	1793613602708175	node-head	\N	\N	\N	\N	\N	\N	\N	{"seq":2,"at":"2026-11-02T10:00:02.708175Z","kind":"node-head","node":"575cebaa7c6c2651","host":"gateway-host","chain":0,"through":2,"head":"2fa6fd93d694ced248bf9fca3bbf24589d7038d7c655700815784ccf7fb2bcae","key":"12ddfaa8728ac71c","prev":"4ec4ec9259dcb6b10b5a9113d3f1f5a7cab5638eb33d8a844d9bc6ca726a683d","hash":"f6bb8934348374aa57de9eda9985f43a41dbdf5bd4839d97958e8cfe9ee9edca"}
3d6394703579701b	0	3	1793613602708175	node-head	\N	\N	\N	\N	\N	\N	\N	{"seq":3,"at":"2026-11-02T10:00:02.708175Z","kind":"node-head","node":"60954e681a178ff9","host":"gateway-host","chain":0,"through":1,"head":"0c87ce6a898ba4ab4453d9a00041a0b2b0d66631f267b75472add8c5083ebe64","key":"3379bb8463fdc19e","prev":"f6bb8934348374aa57de9eda9985f43a41dbdf5bd4839d97958e8cfe9ee9edca","hash":"0a9e983b21ec25093a4c1dd1d20f7ad7a166ab3277af6ad884ac6833b70c9665"}
60954e681a178ff9	0	2	1793613602708310	intent	bob	\N	register-create	\N	549b04f256475cc30000030000000001	\N	\N	{"seq":2,"at":"2026-11-02T10:00:02.708310Z","kind":"intent","call":"549b04f256475cc30000030000000001","action":"register-create","user":"bob","authenticator":"static-users","peer":"127.0.0.1","prev":"0c87ce6a898ba4ab4453d9a00041a0b2b0d66631f267b75472add8c5083ebe64","hash":"3531f210b9c6e022aa80e5fa9519f689aeb6481db7f53baf6093cad4512803bb"}
60954e681a178ff9	0	3	1793613602832573	outcome	bob	\N	register-create	accepted	549b04f256475cc30000030000000001	\N	52	{"seq":3,"at":"2026-11-02T10:00:02.832573Z","kind":"outcome","call":"549b04f256475cc30000030000000001","action":"register-create","user":"bob","authenticator":"static-users","peer":"127.0.0.1","registration":"1-1-1","result":"accepted","status":200,"ms":52,"prev":"3531f210b9c6e022aa80e5fa9519f689aeb6481db7f53baf6093cad4512803bb","hash":"090387922415937d37ed33108d695f4bdbcaa2f65e292da35291fbd2804ca47e"}
60954e681a178ff9	0	4	1793613602876100	intent	bob	\N	register-update	\N	549b04f256475cc30000040000000001	\N	\N	{"seq":4,"at":"2026-11-02T10:00:02.876100Z","kind":"intent","call":"549b04f256475cc30000040000000001","action":"register-update","user":"bob","authenticator":"static-users","peer":"127.0.0.1","platform":"apns","registration":"1-1-1","prev":"090387922415937d37ed33108d695f4bdbcaa2f65e292da35291fbd2804ca47e","hash":"b40e4c5544562d12a41e5b721594c474851f446d58ef98904c6ad360c6ed10cf"}
60954e681a178ff9	0	5	1793613602970094	outcome	bob	\N	register-update	accepted	549b04f256475cc30000040000000001	\N	69	{"seq":5,"at":"2026-11-02T10:00:02.970094Z","kind":"outcome","call":"549b04f256475cc30000040000000001","action":"register-update","user":"bob","authenticator":"static-users","peer":"127.0.0.1","platform":"apns","registration":"1-1-1","result":"accepted","status":200,"ms":69,"prev":"b40e4c5544562d12a41e5b721594c474851f446d58ef98904c6ad360c6ed10cf","hash":"4f560dc3e8561c2ba95b05d0fbabae6dbb2cf23a3dd864808bf324a9b59e6828"}
575cebaa7c6c2651	0	3	1793613603017981	intent	carol	\N	register-create	\N	0a10bc25787dba600000030000000001	\N	\N	{"seq":3,"at":"2026-11-02T10:00:03.017981Z","kind":"intent","call":"0a10bc25787dba600000030000000001","action":"register-create","user":"carol","authenticator":"static-users","peer":"127.0.0.1","prev":"2fa6fd93d694ced248bf9fca3bbf24589d7038d7c655700815784ccf7fb2bcae","hash":"988c9117445a0f9bc4a88626aafb6beae4eac3107accba7195867da0c37e946d"}
575cebaa7c6c2651	0	4	1793613603059034	outcome	carol	\N	register-create	accepted	0a10bc25787dba600000030000000001	\N	26	{"seq":4,"at":"2026-11-02T10:00:03.059034Z","kind":"outcome","call":"0a10bc25787dba600000030000000001","action":"register-create","user":"carol","authenticator":"static-users","peer":"127.0.0.1","registration":"2-2-1","result":"accepted","status":200,"ms":26,"prev":"988c9117445a0f9bc4a88626aafb6beae4eac3107accba7195867da0c37e946d","hash":"81294c6e7e9d7b8e3cc34e53420435ae7217e8299e40e69d6a90f32455b264c3"}
575cebaa7c6c2651	0	5	1793613603085174	intent	carol	\N	register-update	\N	0a10bc25787dba600000040000000001	\N	\N	{"seq":5,"at":"2026-11-02T10:00:03.085174Z","kind":"intent","call":"0a10bc25787dba600000040000000001","action":"register-update","user":"carol","authenticator":"static-users","peer":"127.0.0.1","platform":"apns","registration":"2-2-1","prev":"81294c6e7e9d7b8e3cc34e53420435ae7217e8299e40e69d6a90f32455b264c3","hash":"b7a09466606a0ec88b5e0e5cd32ddbc97122f1df1ca209af7eab0e756ff29a45"}
575cebaa7c6c2651	0	6	1793613603110792	outcome	carol	\N	register-update	accepted	0a10bc25787dba600000040000000001	\N	18	{"seq":6,"at":"2026-11-02T10:00:03.110792Z","kind":"outcome","call":"0a10bc25787dba600000040000000001","action":"register-update","user":"carol","authenticator":"static-users","peer":"127.0.0.1","platform":"apns","registration":"2-2-1","result":"accepted","status":200,"ms":18,"prev":"b7a09466606a0ec88b5e0e5cd32ddbc97122f1df1ca209af7eab0e756ff29a45","hash":"d1dd577ff1a3df92b4dbab5385f8242862df62d54dbf4fc5cc4ed337e2943d64"}
3d6394703579701b	0	4	1793613603153181	intent	alice	\N	register-create	\N	eff501c17f5f96b60000030000000001	\N	\N	{"seq":4,"at":"2026-11-02T10:00:03.153181Z","kind":"intent","call":"eff501c17f5f96b60000030000000001","action":"register-create","user":"alice","authenticator":"static-users","peer":"127.0.0.1","prev":"0a9e983b21ec25093a4c1dd1d20f7ad7a166ab3277af6ad884ac6833b70c9665","hash":"93714ffddcb27627fac7c25c48b2b1d43dc53d7335cc7ec3881264c2375e8727"}
3d6394703579701b	0	5	1793613603201812	outcome	alice	\N	register-create	accepted	eff501c17f5f96b60000030000000001	\N	33	{"seq":5,"at":"2026-11-02T10:00:03.201812Z","kind":"outcome","call":"eff501c17f5f96b60000030000000001","action":"register-create","user":"alice","authenticator":"static-users","peer":"127.0.0.1","registration":"3-3-1","result":"accepted","status":200,"ms":33,"prev":"93714ffddcb27627fac7c25c48b2b1d43dc53d7335cc7ec3881264c2375e8727","hash":"f995c6ebb2cfddc16f2c4aff27ef9006b034ff7eb8f0ccfb4af4da0ff99b58a0"}
3d6394703579701b	0	6	1793613603248947	intent	alice	\N	register-update	\N	eff501c17f5f96b60000040000000001	\N	\N	{"seq":6,"at":"2026-11-02T10:00:03.248947Z","kind":"intent","call":"eff501c17f5f96b60000040000000001","action":"register-update","user":"alice","authenticator":"static-users","peer":"127.0.0.1","platform":"apns","registration":"3-3-1","prev":"f995c6ebb2cfddc16f2c4aff27ef9006b034ff7eb8f0ccfb4af4da0ff99b58a0","hash":"add1f656d90f3a2ebdb37e0e96485f7635b18609ac3227d4a260a8e0e0bcf9b8"}
3d6394703579701b	0	7	1793613603288814	outcome	alice	\N	register-update	accepted	eff501c17f5f96b60000040000000001	\N	15	{"seq":7,"at":"2026-11-02T10:00:03.288814Z","kind":"outcome","call":"eff501c17f5f96b60000040000000001","action":"register-update","user":"alice","authenticator":"static-users","peer":"127.0.0.1","platform":"apns","registration":"3-3-1","result":"accepted","status":200,"ms":15,"prev":"add1f656d90f3a2ebdb37e0e96485f7635b18609ac3227d4a260a8e0e0bcf9b8","hash":"ee62e45ecb2995b5f24235bb64c8db22d83e2344a1dca60599932666d9727eee"}
3d6394703579701b	0	8	1793613603343458	intent	alice	bob	send	\N	eff501c17f5f96b60000030000000002	\N	\N	{"seq":8,"at":"2026-11-02T10:00:03.343458Z","kind":"intent","call":"eff501c17f5f96b60000030000000002","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[0]","bytes":5,"digest":"272b1d8e8d0d176a6faa21d8e44166cd","prev":"ee62e45ecb2995b5f24235bb64c8db22d83e2344a1dca60599932666d9727eee","hash":"d7615fe5f476cb5a73956a3070da7f6a763dd52ad72b53391b9a233cd2034641"}
3d6394703579701b	0	9	1793613603344369	outcome	alice	bob	send	accepted	eff501c17f5f96b60000030000000002	\N	0	{"seq":9,"at":"2026-11-02T10:00:03.344369Z","kind":"outcome","call":"eff501c17f5f96b60000030000000002","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[0]","bytes":5,"digest":"272b1d8e8d0d176a6faa21d8e44166cd","result":"accepted","status":200,"ms":0,"prev":"d7615fe5f476cb5a73956a3070da7f6a763dd52ad72b53391b9a233cd2034641","hash":"3f4a1a90e1af48563f577398d660a24eb6b63149d63f204d9cee7aa6283da6c2"}
3d6394703579701b	0	10	1793613603348829	intent	bob	bob	send	\N	eff501c17f5f96b60000040000000002	\N	\N	{"seq":10,"at":"2026-11-02T10:00:03.348829Z","kind":"intent","call":"eff501c17f5f96b60000040000000002","action":"send","user":"bob","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[4]","bytes":6,"digest":"be20e675a000a66bf9a89e70a5b5e677","prev":"3f4a1a90e1af48563f577398d660a24eb6b63149d63f204d9cee7aa6283da6c2","hash":"2e1ecb87bcb9cfeaf14b5924c38c94495e7f888392c2f3e11bba4b06af6e2fad"}
3d6394703579701b	0	11	1793613603352728	outcome	bob	bob	send	accepted	eff501c17f5f96b60000040000000002	\N	0	{"seq":11,"at":"2026-11-02T10:00:03.352728Z","kind":"outcome","call":"eff501c17f5f96b60000040000000002","action":"send","user":"bob","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[4]","bytes":6,"digest":"be20e675a000a66bf9a89e70a5b5e677","result":"accepted","status":200,"ms":0,"prev":"2e1ecb87bcb9cfeaf14b5924c38c94495e7f888392c2f3e11bba4b06af6e2fad","hash":"710743143ad19318d786c86f22f41b519594373a2b3cb4e4a21679ec0fe18d02"}
3d6394703579701b	0	12	1793613603355287	refusal	frank	carol	send	send-not-allowed	eff501c17f5f96b60000030000000003	\N	\N	{"seq":12,"at":"2026-11-02T10:00:03.355287Z","kind":"refusal","call":"eff501c17f5f96b60000030000000003","action":"send","user":"frank","authenticator":"static-users","peer":"127.0.0.1","recipient":"carol","pns":"apns","bytes":2,"result":"send-not-allowed","prev":"710743143ad19318d786c86f22f41b519594373a2b3cb4e4a21679ec0fe18d02","hash":"1f917a40d99c89169bb3b925a62054e07e2f1a3439eaac4035f82478e2df3c28"}
3d6394703579701b	0	13	1793613603628997	intent	alice	alice	send	\N	eff501c17f5f96b60000030000000004	\N	\N	{"seq":13,"at":"2026-11-02T10:00:03.628997Z","kind":"intent","call":"eff501c17f5f96b60000030000000004","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"alice","audience":"oncall","pns":"apns","rule":"send[1]","would-limit":["inbox"],"bytes":3,"digest":"b3d3d813189bcc6540eef6391b982f3e","prev":"1f917a40d99c89169bb3b925a62054e07e2f1a3439eaac4035f82478e2df3c28","hash":"e5903c2b1198e5fbe23ad6aeb0afcdb160b4edf86af2fabf8850e64e87e537b9"}
3d6394703579701b	0	14	1793613603628997	intent	alice	bob	send	\N	eff501c17f5f96b60000030000000004	\N	\N	{"seq":14,"at":"2026-11-02T10:00:03.628997Z","kind":"intent","call":"eff501c17f5f96b60000030000000004","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","audience":"oncall","pns":"apns","rule":"send[1]","would-limit":["inbox"],"bytes":3,"digest":"b3d3d813189bcc6540eef6391b982f3e","prev":"e5903c2b1198e5fbe23ad6aeb0afcdb160b4edf86af2fabf8850e64e87e537b9","hash":"a2356f521b12781146db10d894759faf1690b7262244da44a6b24d4922492815"}
3d6394703579701b	0	15	1793613603628997	intent	alice	carol	send	\N	eff501c17f5f96b60000030000000004	\N	\N	{"seq":15,"at":"2026-11-02T10:00:03.628997Z","kind":"intent","call":"eff501c17f5f96b60000030000000004","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"carol","audience":"oncall","pns":"apns","rule":"send[1]","would-limit":["inbox"],"bytes":3,"digest":"b3d3d813189bcc6540eef6391b982f3e","prev":"a2356f521b12781146db10d894759faf1690b7262244da44a6b24d4922492815","hash":"944a86af71245ed4ae703948f6798254b6892bc10d3c529b5d4996dc4ad75d1c"}
3d6394703579701b	0	16	1793613603648189	outcome	alice	alice	send	accepted	eff501c17f5f96b60000030000000004	\N	0	{"seq":16,"at":"2026-11-02T10:00:03.648189Z","kind":"outcome","call":"eff501c17f5f96b60000030000000004","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"alice","audience":"oncall","pns":"apns","rule":"send[1]","would-limit":["inbox"],"bytes":3,"digest":"b3d3d813189bcc6540eef6391b982f3e","result":"accepted","status":200,"ms":0,"prev":"944a86af71245ed4ae703948f6798254b6892bc10d3c529b5d4996dc4ad75d1c","hash":"9199da3e6b53fdb4d9c4f8d74cd983102b0989fb6093580dd9871c7c638b868f"}
3d6394703579701b	0	17	1793613603648189	outcome	alice	bob	send	accepted	eff501c17f5f96b60000030000000004	\N	1	{"seq":17,"at":"2026-11-02T10:00:03.648189Z","kind":"outcome","call":"eff501c17f5f96b60000030000000004","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","audience":"oncall","pns":"apns","rule":"send[1]","would-limit":["inbox"],"bytes":3,"digest":"b3d3d813189bcc6540eef6391b982f3e","result":"accepted","status":200,"ms":1,"prev":"9199da3e6b53fdb4d9c4f8d74cd983102b0989fb6093580dd9871c7c638b868f","hash":"eac9fd0734abc0ec6eff0d7cef70e538fde45f637bee7dab267bceff852c3e30"}
3d6394703579701b	0	18	1793613603648189	outcome	alice	carol	send	accepted	eff501c17f5f96b60000030000000004	\N	0	{"seq":18,"at":"2026-11-02T10:00:03.648189Z","kind":"outcome","call":"eff501c17f5f96b60000030000000004","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"carol","audience":"oncall","pns":"apns","rule":"send[1]","would-limit":["inbox"],"bytes":3,"digest":"b3d3d813189bcc6540eef6391b982f3e","result":"accepted","status":200,"ms":0,"prev":"eac9fd0734abc0ec6eff0d7cef70e538fde45f637bee7dab267bceff852c3e30","hash":"07d7a6559c972f8f60fd1ee23bb1d1b8302075a6ce4052db7d2a59d6259e69b5"}
60954e681a178ff9	0	6	1793613603288802	intent	alice	bob	send	\N	549b04f256475cc30000030000000002	\N	\N	{"seq":6,"at":"2026-11-02T10:00:03.288802Z","kind":"intent","call":"549b04f256475cc30000030000000002","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[0]","bytes":5,"digest":"272b1d8e8d0d176a6faa21d8e44166cd","prev":"4f560dc3e8561c2ba95b05d0fbabae6dbb2cf23a3dd864808bf324a9b59e6828","hash":"8d1513aef16bdbf9214fdc806a1e8da07255c4e6bb96bbe1ad7b0400c0e0c363"}
60954e681a178ff9	0	7	1793613603295206	outcome	alice	bob	send	accepted	549b04f256475cc30000030000000002	\N	0	{"seq":7,"at":"2026-11-02T10:00:03.295206Z","kind":"outcome","call":"549b04f256475cc30000030000000002","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[0]","bytes":5,"digest":"272b1d8e8d0d176a6faa21d8e44166cd","result":"accepted","status":200,"ms":0,"prev":"8d1513aef16bdbf9214fdc806a1e8da07255c4e6bb96bbe1ad7b0400c0e0c363","hash":"0580d2d3e418cf52e4184b11bae4c37cc9ad396f7e442b3311bfaf358dfe338a"}
60954e681a178ff9	0	8	1793613603295727	intent	bob	bob	send	\N	549b04f256475cc30000040000000002	\N	\N	{"seq":8,"at":"2026-11-02T10:00:03.295727Z","kind":"intent","call":"549b04f256475cc30000040000000002","action":"send","user":"bob","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[4]","bytes":6,"digest":"be20e675a000a66bf9a89e70a5b5e677","prev":"0580d2d3e418cf52e4184b11bae4c37cc9ad396f7e442b3311bfaf358dfe338a","hash":"392a4c40bcc8e5a3be145af98460241b6e02fff30b9bb7fad8e6b439655be43f"}
60954e681a178ff9	0	9	1793613603304303	outcome	bob	bob	send	accepted	549b04f256475cc30000040000000002	\N	4	{"seq":9,"at":"2026-11-02T10:00:03.304303Z","kind":"outcome","call":"549b04f256475cc30000040000000002","action":"send","user":"bob","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[4]","bytes":6,"digest":"be20e675a000a66bf9a89e70a5b5e677","result":"accepted","status":200,"ms":4,"prev":"392a4c40bcc8e5a3be145af98460241b6e02fff30b9bb7fad8e6b439655be43f","hash":"3729f3fc81d00a06867de0f2d4cbfb2d946e45ee61232054b401d25beeffb0a4"}
60954e681a178ff9	0	10	1793613603308138	refusal	frank	carol	send	send-not-allowed	549b04f256475cc30000030000000003	\N	\N	{"seq":10,"at":"2026-11-02T10:00:03.308138Z","kind":"refusal","call":"549b04f256475cc30000030000000003","action":"send","user":"frank","authenticator":"static-users","peer":"127.0.0.1","recipient":"carol","pns":"apns","bytes":2,"result":"send-not-allowed","prev":"3729f3fc81d00a06867de0f2d4cbfb2d946e45ee61232054b401d25beeffb0a4","hash":"3817a1e4d34835bb7d4794887128e992cd70cd10f8dc1e7a9d17cf6d1f27754d"}
60954e681a178ff9	0	11	1793613603384118	intent	alice	frank	send	\N	549b04f256475cc30000040000000003	\N	\N	{"seq":11,"at":"2026-11-02T10:00:03.384118Z","kind":"intent","call":"549b04f256475cc30000040000000003","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"frank","pns":"apns","rule":"send[0]","bytes":4,"digest":"123fe68bc9fe4a0ae3f4e2ef8cf0a81d","idempotency":"eed5e65f314f411651bd35665537c1b9","prev":"3817a1e4d34835bb7d4794887128e992cd70cd10f8dc1e7a9d17cf6d1f27754d","hash":"66e8e99e690f6e284617ec86daa5bd2008215047c243bc0cb053f1ee0ad8975c"}
60954e681a178ff9	0	12	1793613603385579	outcome	alice	frank	send	accepted	549b04f256475cc30000040000000003	\N	0	{"seq":12,"at":"2026-11-02T10:00:03.385579Z","kind":"outcome","call":"549b04f256475cc30000040000000003","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"frank","pns":"apns","rule":"send[0]","bytes":4,"digest":"123fe68bc9fe4a0ae3f4e2ef8cf0a81d","idempotency":"eed5e65f314f411651bd35665537c1b9","result":"accepted","status":200,"ms":0,"prev":"66e8e99e690f6e284617ec86daa5bd2008215047c243bc0cb053f1ee0ad8975c","hash":"052965cbc403de089703df53145dc383e7394d1505d76837791cf2b97bdf5919"}
60954e681a178ff9	0	13	1793613603580127	operator	carol	\N	operator-revoke	accepted	549b04f256475cc30000000000000001	\N	\N	{"seq":13,"at":"2026-11-02T10:00:03.580127Z","kind":"operator","call":"549b04f256475cc30000000000000001","action":"operator-revoke","user":"carol","peer":"control","result":"accepted","operator":0,"prev":"052965cbc403de089703df53145dc383e7394d1505d76837791cf2b97bdf5919","hash":"a3ea2539e5256285af7e44a2a46880525c8183c3dd85f28bd1da03d37c9da7ca"}
575cebaa7c6c2651	0	7	1793613603309910	intent	alice	bob	send	\N	0a10bc25787dba600000030000000002	\N	\N	{"seq":7,"at":"2026-11-02T10:00:03.309910Z","kind":"intent","call":"0a10bc25787dba600000030000000002","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[0]","bytes":5,"digest":"272b1d8e8d0d176a6faa21d8e44166cd","prev":"d1dd577ff1a3df92b4dbab5385f8242862df62d54dbf4fc5cc4ed337e2943d64","hash":"ee92109ff3d1eecaa5eaf2237a52d8363fe5b22774a346c9d36902cabda9914e"}
575cebaa7c6c2651	0	8	1793613603328220	outcome	alice	bob	send	accepted	0a10bc25787dba600000030000000002	\N	0	{"seq":8,"at":"2026-11-02T10:00:03.328220Z","kind":"outcome","call":"0a10bc25787dba600000030000000002","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[0]","bytes":5,"digest":"272b1d8e8d0d176a6faa21d8e44166cd","result":"accepted","status":200,"ms":0,"prev":"ee92109ff3d1eecaa5eaf2237a52d8363fe5b22774a346c9d36902cabda9914e","hash":"c39d224d1ecfed35f96dd803b95a6a837e4b1cb3be4b896e2fead7ac0a9b65d1"}
575cebaa7c6c2651	0	9	1793613603328220	intent	bob	bob	send	\N	0a10bc25787dba600000040000000002	\N	\N	{"seq":9,"at":"2026-11-02T10:00:03.328220Z","kind":"intent","call":"0a10bc25787dba600000040000000002","action":"send","user":"bob","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[4]","bytes":6,"digest":"be20e675a000a66bf9a89e70a5b5e677","prev":"c39d224d1ecfed35f96dd803b95a6a837e4b1cb3be4b896e2fead7ac0a9b65d1","hash":"35d37ec9b31e1d55e6bdaa9ea21a150ad360b2a6b6c7167fecbca2f2b577e83f"}
575cebaa7c6c2651	0	10	1793613603348261	outcome	bob	bob	send	accepted	0a10bc25787dba600000040000000002	\N	0	{"seq":10,"at":"2026-11-02T10:00:03.348261Z","kind":"outcome","call":"0a10bc25787dba600000040000000002","action":"send","user":"bob","authenticator":"static-users","peer":"127.0.0.1","recipient":"bob","pns":"apns","rule":"send[4]","bytes":6,"digest":"be20e675a000a66bf9a89e70a5b5e677","result":"accepted","status":200,"ms":0,"prev":"35d37ec9b31e1d55e6bdaa9ea21a150ad360b2a6b6c7167fecbca2f2b577e83f","hash":"54ec9a9b55cfefc68a8346f0b3e8d50fe0cfb41791488de40e3c2ac134878586"}
575cebaa7c6c2651	0	11	1793613603348261	refusal	frank	carol	send	send-not-allowed	0a10bc25787dba600000030000000003	\N	\N	{"seq":11,"at":"2026-11-02T10:00:03.348261Z","kind":"refusal","call":"0a10bc25787dba600000030000000003","action":"send","user":"frank","authenticator":"static-users","peer":"127.0.0.1","recipient":"carol","pns":"apns","bytes":2,"result":"send-not-allowed","prev":"54ec9a9b55cfefc68a8346f0b3e8d50fe0cfb41791488de40e3c2ac134878586","hash":"3b9ddebe2e5fad5de29f2f629b68ad379535b887bda7928872664af095a9da51"}
575cebaa7c6c2651	0	12	1793613603552103	replay	alice	frank	send	accepted	0a10bc25787dba600000040000000003	\N	\N	{"seq":12,"at":"2026-11-02T10:00:03.552103Z","kind":"replay","call":"0a10bc25787dba600000040000000003","action":"send","user":"alice","authenticator":"static-users","peer":"127.0.0.1","recipient":"frank","pns":"apns","rule":"send[0]","bytes":4,"digest":"123fe68bc9fe4a0ae3f4e2ef8cf0a81d","idempotency":"eed5e65f314f411651bd35665537c1b9","result":"accepted","prev":"3b9ddebe2e5fad5de29f2f629b68ad379535b887bda7928872664af095a9da51","hash":"3c4b891d1a69526e7e9bf65a9bca11e699299fb197500500b84440a9be54f023"}
575cebaa7c6c2651	0	13	1793613603552103	intent	carol	\N	token-issue	\N	0a10bc25787dba600000030000000004	\N	\N	{"seq":13,"at":"2026-11-02T10:00:03.552103Z","kind":"intent","call":"0a10bc25787dba600000030000000004","action":"token-issue","user":"carol","authenticator":"static-users","peer":"127.0.0.1","prev":"3c4b891d1a69526e7e9bf65a9bca11e699299fb197500500b84440a9be54f023","hash":"9abae745f02582e3bc6694e4163e884e045f2e16e269b17d1db96575ac53a55c"}
575cebaa7c6c2651	0	14	1793613603564124	outcome	carol	\N	token-issue	accepted	0a10bc25787dba600000030000000004	\N	\N	{"seq":14,"at":"2026-11-02T10:00:03.564124Z","kind":"outcome","call":"0a10bc25787dba600000030000000004","action":"token-issue","user":"carol","authenticator":"static-users","peer":"127.0.0.1","session":"PCOjL_WZKrmxF4J65pZcvA","result":"accepted","prev":"9abae745f02582e3bc6694e4163e884e045f2e16e269b17d1db96575ac53a55c","hash":"78d79ba501c95449bab32c85ccc7320d1fba0cbc64fa0685eab5ff28f7f354dc"}
575cebaa7c6c2651	0	15	1793613603670834	intent	carol	\N	register-delete	\N	0a10bc25787dba600000020000000001	\N	\N	{"seq":15,"at":"2026-11-02T10:00:03.670834Z","kind":"intent","call":"0a10bc25787dba600000020000000001","action":"register-delete","user":"carol","peer":"gateway","registration":"2-2-1","rule":"revoked","prev":"78d79ba501c95449bab32c85ccc7320d1fba0cbc64fa0685eab5ff28f7f354dc","hash":"87f24e565ed710a28ca65508a40090e54f328227f62673abbafc81e2fbfc8cef"}
575cebaa7c6c2651	0	16	1793613603688159	outcome	carol	\N	register-delete	accepted	0a10bc25787dba600000020000000001	\N	0	{"seq":16,"at":"2026-11-02T10:00:03.688159Z","kind":"outcome","call":"0a10bc25787dba600000020000000001","action":"register-delete","user":"carol","peer":"gateway","registration":"2-2-1","rule":"revoked","result":"accepted","status":200,"ms":0,"prev":"87f24e565ed710a28ca65508a40090e54f328227f62673abbafc81e2fbfc8cef","hash":"294dc010120637e0da7853af0824af4ddf74e2d144c6b662787338a57bda9f89"}
575cebaa7c6c2651	0	17	1793613603956210	stop	\N	\N	\N	\N	\N	\N	\N	{"seq":17,"at":"2026-11-02T10:00:03.956210Z","kind":"stop","prev":"294dc010120637e0da7853af0824af4ddf74e2d144c6b662787338a57bda9f89","hash":"3c7b0b590a2704337faa95f6ee7539c56009479cf666a9fcc4fafc4ead70710c"}
575cebaa7c6c2651	0	18	1793613603956210	checkpoint	\N	\N	\N	\N	\N	\N	\N	{"seq":18,"at":"2026-11-02T10:00:03.956210Z","kind":"checkpoint","format":1,"through":17,"head":"3c7b0b590a2704337faa95f6ee7539c56009479cf666a9fcc4fafc4ead70710c","key":"12ddfaa8728ac71c","signature":"ZJl/hpSORhID6As2MKP1TQ7N+sQhxEM2CXauSQ36zfFpjpGz+GkDFZYEJgLCab6vOcgDSsGA2hK1eEyNACgQDA==","prev":"3c7b0b590a2704337faa95f6ee7539c56009479cf666a9fcc4fafc4ead70710c","hash":"5d1d4f41998b6e3ddfaf0e5fcdbae5d2faf1249494d0bf4870230d5f7a055232"}
575cebaa7c6c2651	0	19	1793613604202069	checkpoint	\N	\N	\N	\N	\N	\N	\N	{"seq":19,"at":"2026-11-02T10:00:04.202069Z","kind":"checkpoint","format":1,"through":18,"head":"5d1d4f41998b6e3ddfaf0e5fcdbae5d2faf1249494d0bf4870230d5f7a055232","key":"12ddfaa8728ac71c","signature":"1ijo2MKnxhhr+bUOv30R12wyM076kOCdsd3dklBc6jqszyiPwPlfZqXw1C5IBMCUPAhEYPinkN73sWwAKWhZCA==","prev":"5d1d4f41998b6e3ddfaf0e5fcdbae5d2faf1249494d0bf4870230d5f7a055232","hash":"f5926a8632b0095aca9a249f88280df133a8963da04f0691c616e5ed15d5379b"}
575cebaa7c6c2651	0	20	1793613604202069	start	\N	\N	\N	\N	\N	\N	\N	{"seq":20,"at":"2026-11-02T10:00:04.202069Z","kind":"start","format":1,"prev":"f5926a8632b0095aca9a249f88280df133a8963da04f0691c616e5ed15d5379b","hash":"467b49f5bb080ac1e2858b5d8b85b3febe4197f6591f7ac34883cb57fb291a89"}
575cebaa7c6c2651	0	21	1793613604430011	node-head	\N	\N	\N	\N	\N	\N	\N	{"seq":21,"at":"2026-11-02T10:00:04.430011Z","kind":"node-head","node":"3d6394703579701b","host":"gateway-host","chain":0,"through":18,"head":"07d7a6559c972f8f60fd1ee23bb1d1b8302075a6ce4052db7d2a59d6259e69b5","key":"7c7d38e2618e4cc2","prev":"467b49f5bb080ac1e2858b5d8b85b3febe4197f6591f7ac34883cb57fb291a89","hash":"028ff4a820ca8576bc9c8ca166b38d3cf0ae850e836f3380c2f2cb878c6a8412"}
575cebaa7c6c2651	0	22	1793613604430011	node-head	\N	\N	\N	\N	\N	\N	\N	{"seq":22,"at":"2026-11-02T10:00:04.430011Z","kind":"node-head","node":"60954e681a178ff9","host":"gateway-host","chain":0,"through":13,"head":"a3ea2539e5256285af7e44a2a46880525c8183c3dd85f28bd1da03d37c9da7ca","key":"3379bb8463fdc19e","prev":"028ff4a820ca8576bc9c8ca166b38d3cf0ae850e836f3380c2f2cb878c6a8412","hash":"867a517e4cacefde32dd3a3ea632d8d90585d76feafdf1645ba489b1f5602bde"}
\.
COPY notify_gateway.keyed_send ("user", target, service, key, message, at, instance, fence, number, state, result, response) FROM stdin;
alice	frank	apns	\\xeed5e65f314f411651bd35665537c1b9	\\x123fe68bc9fe4a0ae3f4e2ef8cf0a81d	1793613603380360	60954e681a178ff9	1	1	completed	accepted	\\x0100c800000000000000
\.
COPY notify_gateway.label ("user", label, registration, used) FROM stdin;
\.
COPY notify_gateway.lease (name, instance, fence) FROM stdin;
import-expiry	60954e681a178ff9	1
account-recheck	60954e681a178ff9	1
\.
COPY notify_gateway.minute_count (minute, class, latency, count) FROM stdin;
29893560	accepted	2	1
29893560	refused	-1	3
29893560	accepted	0	9
\.
COPY notify_gateway.node (instance, host, program, fence, started, until, is_exclusive, applied, accounts, timeline, compared) FROM stdin;
575cebaa7c6c2651	gateway-host	0.1.0	6	1793613604173797	1793613604793168	f	2	\\xee44f1e3f3681c4b037c9bde000ac0a5	00000001	\N
60954e681a178ff9	gateway-host	0.1.0	7	1793613601577471	1793613605840578	f	2	\\xee44f1e3f3681c4b037c9bde000ac0a5	00000001	\N
3d6394703579701b	gateway-host	0.1.0	3	1793613602371562	1793613618992807	f	2	\\xee44f1e3f3681c4b037c9bde000ac0a5	00000001	\N
\.
COPY notify_gateway.node_commit (instance, lane, number) FROM stdin;
60954e681a178ff9	texts	0
60954e681a178ff9	ledger	17
575cebaa7c6c2651	texts	0
3d6394703579701b	texts	0
3d6394703579701b	ledger	13
60954e681a178ff9	keyed-sends	3
575cebaa7c6c2651	keyed-sends	1
3d6394703579701b	keyed-sends	1
575cebaa7c6c2651	ledger	13
\.
COPY notify_gateway.pair_count (bucket, sender, recipient, accepted, failed, refused, last) FROM stdin;
996453	alice	frank	1	0	0	1793613603385579
996453	bob	bob	3	0	0	1793613603352728
996453	frank	carol	0	0	3	1793613603355287
996453	alice	alice	1	0	0	1793613603648189
996453	alice	bob	4	0	0	1793613603648189
996453	alice	carol	1	0	0	1793613603648189
\.
COPY notify_gateway.pair_other (bucket, accepted, failed, refused) FROM stdin;
\.
COPY notify_gateway.property (name, value) FROM stdin;
key-fingerprint	\\x82bdba35f39a9f9d4b3427445dd95592
digest-key-fingerprint	\\x83e0f6566ce337b23cab143b022bd24b
debt-key	\\x88368741ac1a9e6cb0b66229cf10601d
name-rules	\\x7b22666f726d223a312c227072656669786573223a5b5d2c227375666669786573223a5b5d2c22657363617065223a22726566757365227d
\.
COPY notify_gateway.provider_logout (issuer, kind, value, at) FROM stdin;
\.
COPY notify_gateway.registration (id, owner, service, handle, state, created, last_seen, reason, login, authenticator, undeleted, import_unconfirmed, upstream) FROM stdin;
1-1-1	bob	apns	\\x0a8f8dbbe8a22d7e12fe552074a9005a	live	1793613602884331	1793613602953701	\N	\N	\N	\N	\N	http://127.0.0.1:38673
3-3-1	alice	apns	\\x8a7280ee828e15136bbe850adb9d3203	live	1793613603256149	1793613603271795	\N	\N	\N	\N	\N	http://127.0.0.1:38673
\.
COPY notify_gateway.revoked_token ("user", token, until) FROM stdin;
\.
COPY notify_gateway.revoked_user ("user", at) FROM stdin;
carol	1793613603584189
\.
COPY notify_gateway.session (id, "user", login, authenticator, device, began, ends, renewed, issuer, provider_session) FROM stdin;
\.
COPY notify_gateway.store_version (id, version, usable_from) FROM stdin;
1	3	1
\.
COPY notify_gateway.stray (id, service, handle, reason, undeleted, owner, upstream) FROM stdin;
\.
COPY notify_gateway.text (id, owner, key, delivery, expiry, fetched, size, sealed) FROM stdin;
\.
COPY notify_gateway.update_attempt (registration, "user", login, authenticator, at) FROM stdin;
\.
SELECT pg_catalog.setval('notify_gateway.change_number_seq', 2, true);
SELECT pg_catalog.setval('notify_gateway.debt_change_number_seq', 11, true);
ALTER TABLE ONLY notify_gateway.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (authenticator, "user");
ALTER TABLE ONLY notify_gateway.change
    ADD CONSTRAINT change_pkey PRIMARY KEY (number);
ALTER TABLE ONLY notify_gateway.claim
    ADD CONSTRAINT claim_pkey PRIMARY KEY (key);
ALTER TABLE ONLY notify_gateway.debt_change
    ADD CONSTRAINT debt_change_pkey PRIMARY KEY (number);
ALTER TABLE ONLY notify_gateway.debt
    ADD CONSTRAINT debt_pkey PRIMARY KEY (key);
ALTER TABLE ONLY notify_gateway.imported
    ADD CONSTRAINT imported_pkey PRIMARY KEY (id, content);
ALTER TABLE ONLY notify_gateway.journal_checkpoint
    ADD CONSTRAINT journal_checkpoint_pkey PRIMARY KEY (id);
ALTER TABLE ONLY notify_gateway.journal_copy
    ADD CONSTRAINT journal_copy_pkey PRIMARY KEY (instance);
ALTER TABLE ONLY notify_gateway.journal_count
    ADD CONSTRAINT journal_count_pkey PRIMARY KEY (instance, chain);
ALTER TABLE ONLY notify_gateway.journal_line
    ADD CONSTRAINT journal_line_pkey PRIMARY KEY (instance, chain, number);
ALTER TABLE ONLY notify_gateway.keyed_send
    ADD CONSTRAINT keyed_send_pkey PRIMARY KEY ("user", target, service, key);
ALTER TABLE ONLY notify_gateway.label
    ADD CONSTRAINT label_pkey PRIMARY KEY ("user", label);
ALTER TABLE ONLY notify_gateway.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (name);
ALTER TABLE ONLY notify_gateway.minute_count
    ADD CONSTRAINT minute_count_pkey PRIMARY KEY (minute, class, latency);
ALTER TABLE ONLY notify_gateway.node_commit
    ADD CONSTRAINT node_commit_pkey PRIMARY KEY (instance, lane);
ALTER TABLE ONLY notify_gateway.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (instance);
ALTER TABLE ONLY notify_gateway.pair_count
    ADD CONSTRAINT pair_count_pkey PRIMARY KEY (sender, recipient, bucket);
ALTER TABLE ONLY notify_gateway.pair_other
    ADD CONSTRAINT pair_other_pkey PRIMARY KEY (bucket);
ALTER TABLE ONLY notify_gateway.property
    ADD CONSTRAINT property_pkey PRIMARY KEY (name);
ALTER TABLE ONLY notify_gateway.provider_logout
    ADD CONSTRAINT provider_logout_pkey PRIMARY KEY (issuer, kind, value);
ALTER TABLE ONLY notify_gateway.registration
    ADD CONSTRAINT registration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY notify_gateway.revoked_token
    ADD CONSTRAINT revoked_token_pkey PRIMARY KEY ("user", token);
ALTER TABLE ONLY notify_gateway.revoked_user
    ADD CONSTRAINT revoked_user_pkey PRIMARY KEY ("user");
ALTER TABLE ONLY notify_gateway.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);
ALTER TABLE ONLY notify_gateway.store_version
    ADD CONSTRAINT store_version_pkey PRIMARY KEY (id);
ALTER TABLE ONLY notify_gateway.stray
    ADD CONSTRAINT stray_pkey PRIMARY KEY (id);
ALTER TABLE ONLY notify_gateway.text
    ADD CONSTRAINT text_pkey PRIMARY KEY (id);
ALTER TABLE ONLY notify_gateway.update_attempt
    ADD CONSTRAINT update_attempt_pkey PRIMARY KEY (registration, "user");
CREATE INDEX account_of_user ON notify_gateway.account USING btree ("user", since);
CREATE INDEX change_recorded ON notify_gateway.change USING btree (recorded);
CREATE UNIQUE INDEX debt_change_login ON notify_gateway.debt_change USING btree (pattern) WHERE (kind = 'known-login'::text);
CREATE INDEX debt_change_user ON notify_gateway.debt_change USING btree (SUBSTRING(pattern FROM 2 FOR 8)) WHERE (kind = 'known-login'::text);
CREATE INDEX hand_over_at ON notify_gateway.hand_over USING btree (at);
CREATE INDEX hand_over_of_former ON notify_gateway.hand_over USING btree (former) WHERE (former IS NOT NULL);
CREATE INDEX hand_over_of_handle ON notify_gateway.hand_over USING btree (service, handle, at);
CREATE INDEX journal_line_at ON notify_gateway.journal_line USING btree (at, instance, chain, number);
CREATE INDEX journal_line_call ON notify_gateway.journal_line USING btree (call) WHERE (call IS NOT NULL);
CREATE INDEX journal_line_recipient ON notify_gateway.journal_line USING btree (recipient, at) WHERE (recipient IS NOT NULL);
CREATE INDEX journal_line_refusal ON notify_gateway.journal_line USING btree (at, instance, chain, number) WHERE (kind = 'refusal'::text);
CREATE INDEX journal_line_retired ON notify_gateway.journal_line USING btree (instance, chain, number) WHERE (kind = 'retired'::text);
CREATE INDEX journal_line_user ON notify_gateway.journal_line USING btree ("user", at) WHERE ("user" IS NOT NULL);
CREATE INDEX keyed_send_at ON notify_gateway.keyed_send USING btree (at);
CREATE INDEX label_of_registration ON notify_gateway.label USING btree (registration);
CREATE UNIQUE INDEX node_place ON notify_gateway.node USING btree (instance, fence);
CREATE INDEX pair_count_bucket ON notify_gateway.pair_count USING btree (bucket);
CREATE INDEX pair_count_recipient ON notify_gateway.pair_count USING btree (recipient, bucket);
CREATE INDEX registration_by_account ON notify_gateway.registration USING btree (authenticator, owner, login, state) WHERE (login IS NOT NULL);
CREATE INDEX registration_import_unconfirmed ON notify_gateway.registration USING btree (import_unconfirmed) WHERE (import_unconfirmed IS NOT NULL);
CREATE UNIQUE INDEX registration_of_handle ON notify_gateway.registration USING btree (service, handle) WHERE (state <> 'reserved'::text);
CREATE INDEX registration_of_owner ON notify_gateway.registration USING btree (owner, state);
CREATE INDEX registration_to_delete ON notify_gateway.registration USING btree (id) WHERE (state = 'deleting'::text);
CREATE INDEX registration_without_upstream ON notify_gateway.registration USING btree (service) WHERE (upstream IS NULL);
CREATE INDEX session_of_user ON notify_gateway.session USING btree ("user");
CREATE INDEX text_expiry ON notify_gateway.text USING btree (expiry);
CREATE INDEX text_owner ON notify_gateway.text USING btree (owner, id, key, size);
CREATE INDEX text_unfetched ON notify_gateway.text USING btree (owner, delivery) WHERE (fetched IS NULL);
CREATE INDEX update_attempt_of_user ON notify_gateway.update_attempt USING btree ("user");
ALTER TABLE ONLY notify_gateway.label
    ADD CONSTRAINT label_registration_fkey FOREIGN KEY (registration) REFERENCES notify_gateway.registration(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY notify_gateway.update_attempt
    ADD CONSTRAINT update_attempt_registration_fkey FOREIGN KEY (registration) REFERENCES notify_gateway.registration(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
