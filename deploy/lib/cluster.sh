# shellcheck shell=bash
# The parts of deploy/cluster. They use its variables: program, directory, services, port, nodes, processes.

# Prints a command that runs the rest of its arguments without root's privileges, one word a line; nothing if this is not root.
as_nobody() {
    ((EUID != 0)) || printf '%s\n' setpriv --reuid=65534 --regid=65534 --clear-groups --
}

# Ends everything that was started, and removes the directory.
stop_cluster() {
    trap - EXIT INT TERM
    local process file
    say "Stopping"
    # Those that keep gateways come first, so that they start none again.
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    for file in "$directory"/node*/pid; do
        [[ -e "$file" ]] && kill -KILL "$(<"$file")" 2>/dev/null || true
    done
    wait "${processes[@]}" 2>/dev/null || true
    rm -rf -- "$directory" "$services"
}

# wait_for NAME LOG COMMAND: returns once the command succeeds, or fails with the end of the log after a minute.
wait_for() {
    local name="$1" log="$2" tries
    shift 2
    for ((tries = 0; tries < 300; tries++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.2
    done
    tail -n 5 -- "$log" >&2
    fail "$name does not start; the lines above are the end of its log."
}

# Starts PostgreSQL, to which only the user who called deploy/cluster has access: no other can reach its socket, and the server
# itself verifies who connects (peer). The gateways' role is no superuser: a superuser's SQL runs programs.
start_postgresql() {
    local binaries owner
    binaries="$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)"
    mapfile -t unprivileged < <(as_nobody)
    say "Starting PostgreSQL"
    mkdir -m 700 "$services/postgresql" "$services/haproxy"
    ((EUID != 0)) || chown -R 65534:65534 "$services"
    owner="$("${unprivileged[@]}" id -un)"
    (cd / && "${unprivileged[@]}" "$binaries/initdb" --auth=peer --username=postgres --encoding=UTF8 --locale=C \
        -D "$services/postgresql/data" >"$directory/postgresql.log" 2>&1) || {
        tail -n 5 -- "$directory/postgresql.log" >&2
        fail "initdb failed; the lines above have its reason."
    }
    printf 'local all all peer map=cluster\n' >"$services/postgresql/data/pg_hba.conf"
    printf 'cluster %s %s\n' "$owner" postgres "$(id -un)" gateway >"$services/postgresql/data/pg_ident.conf"
    (cd / && exec "${unprivileged[@]}" "$binaries/postgres" -D "$services/postgresql/data" -c listen_addresses= \
        -c "unix_socket_directories=$services/postgresql" >>"$directory/postgresql.log" 2>&1) &
    processes+=($!)
    wait_for PostgreSQL "$directory/postgresql.log" "$binaries/pg_isready" -h "$services/postgresql"
    database_command "$binaries" postgres 'CREATE ROLE gateway LOGIN'
    database_command "$binaries" postgres 'CREATE DATABASE gateway OWNER gateway'
    database_command "$binaries" gateway 'CREATE SCHEMA notify_gateway AUTHORIZATION gateway'
}

# database_command BINARIES DATABASE SQL: runs a statement as PostgreSQL's superuser.
database_command() {
    (cd / && "${unprivileged[@]}" "$1/psql" -Xq -h "$services/postgresql" -U postgres -d "$2" -c "$3" \
        >>"$directory/postgresql.log" 2>&1) || {
        tail -n 5 -- "$directory/postgresql.log" >&2
        fail "PostgreSQL refuses \"$3\"; the lines above have its reason."
    }
}

start_backend() {
    "$program" backend --port "$((port + 20))" >"$directory/backend.log" 2>&1 &
    processes+=($!)
    wait_for "the backend" "$directory/backend.log" curl -sS "http://127.0.0.1:$((port + 20))/registrations"
}

# prepare_node NUMBER: writes the files of a gateway. Keys and users are those of the first one, which has started before.
prepare_node() {
    local own="$directory/node$1" first="$directory/node1"
    mkdir -m 700 "$own"
    cat >"$own/gateway.yaml" <<CONFIGURATION
listen: [{ address: "127.0.0.1:$((port + $1))" }]
admin: { address: "127.0.0.1:$((port + 10 + $1))" }
control: control.sock
backend: { url: "http://127.0.0.1:$((port + 20))" }
authenticators:
  - static-users: { file: users.yaml }
  - hmac-token: { keys: token-keys.yaml }
policy:
  send: [{ from: "*", to: "*" }]
journal: { directory: journal, minimum-free: 0 }
ledger: { file: ledger.sqlite }
store:
  postgresql: { socket: "$services/postgresql", database: gateway, user: gateway }
drain: { grace: 1s }
log: { level: notice, format: text }
CONFIGURATION
    if (($1 == 1)); then
        local user
        "$program" keys rotate --config "$own/gateway.yaml" >/dev/null
        for user in alice bob; do
            printf '%s\n' "$user" | "$program" users add "$user" --config "$own/gateway.yaml" >/dev/null
        done
    else
        # The keys by which all nodes recognise tokens, devices and texts. The journal and its key stay each node's own.
        cp -p -- "$first/users.yaml" "$first/token-keys.yaml" "$first"/ledger.sqlite*.key "$own/"
    fi
}

# keep_node NUMBER: runs a gateway, and again 5 s after it ended, as systemd does.
keep_node() {
    local own="$directory/node$1"
    while true; do
        "$program" serve --config "$own/gateway.yaml" >>"$own/log" 2>&1 &
        printf '%s\n' "$!" >"$own/pid"
        # Also hides the shell's message about a killed process.
        wait "$!" 2>/dev/null || true
        sleep 5
    done
}

start_haproxy() {
    local node state
    {
        cat <<CONFIGURATION
defaults
    mode http
    timeout connect 1s
    timeout client 70s
    timeout server 70s
    timeout check 1s
    option redispatch 1
frontend calls
    bind 127.0.0.1:$port
    # While PostgreSQL is away no gateway is ready, but sends without a key still go on for 10 s.
    use_backend live if { nbsrv(ready) eq 0 }
    default_backend ready
CONFIGURATION
        for state in ready live; do
            cat <<CONFIGURATION
backend $state
    balance roundrobin
    option httpchk GET /health/$state
    default-server inter 500ms fall 2 rise 1
CONFIGURATION
            for ((node = 1; node <= nodes; node++)); do
                printf '    server node%d 127.0.0.1:%d check port %d\n' "$node" "$((port + node))" "$((port + 10 + node))"
            done
        done
    } >"$services/haproxy/haproxy.cfg"
    (cd / && exec "${unprivileged[@]}" "$(PATH="$PATH:/usr/sbin" command -v haproxy)" -db -f "$services/haproxy/haproxy.cfg" \
        >"$directory/haproxy.log" 2>&1) &
    processes+=($!)
    wait_for HAProxy "$directory/haproxy.log" curl -sS "http://127.0.0.1:$port/"
}

print_guide() {
    cat <<GUIDE

Gateways: $nodes, on one store, behind http://127.0.0.1:$port. Paste these lines into another terminal:

  # bob's phone registers, alice logs in and notifies bob. Each call goes to the next gateway.
  URL=http://127.0.0.1:$port DIR=$directory GATEWAY=$program
  PHONE=b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0
  ID=\$(curl -sS -u bob:bob -X POST "\$URL/api/register?handle=\$PHONE" | jq -r .)
  curl -sS -u bob:bob -X PUT "\$URL/api/register/\$ID" -H 'Content-Type: application/json' \\
    -d "{\"Platform\":\"apns\",\"Handle\":\"\$PHONE\",\"Tags\":[]}"
  TOKEN=\$(curl -sS -u alice:alice -X POST \$URL/auth/token | jq -r .access_token)
  curl -sS -H "Authorization: Bearer \$TOKEN" -H 'Content-Type: application/json' \\
    "\$URL/api/notifications?pns=apns&to_tag=bob" -d '"Hello"'
  curl -sS http://127.0.0.1:$((port + 20))/inbox/\$PHONE

  # The gateways, as the store knows them, and what the balancer asks each of them.
  \$GATEWAY nodes --config \$DIR/node1/gateway.yaml
  curl -sS http://127.0.0.1:$((port + 11))/health/ready

  # Kill a gateway, and send on: the others know the token. It comes back after 5 s.
  kill -9 \$(cat \$DIR/node1/pid)
  for i in 1 2 3 4 5 6; do curl -sS -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer \$TOKEN" \\
    -H 'Content-Type: application/json' "\$URL/api/notifications?pns=apns&to_tag=bob" -d '"Still here"'; done

  # Repeat a send with its key at any gateway: bob receives it once.
  for i in 1 2 3; do curl -sS -H "Authorization: Bearer \$TOKEN" -H 'Idempotency-Key: once-1' \\
    -H 'Content-Type: application/json' "\$URL/api/notifications?pns=apns&to_tag=bob" -d '"Once"'; done

  # Revoke alice at one gateway: all refuse her token (401). The command waits for a gateway that is away, at most 13 s.
  \$GATEWAY tokens revoke --user alice --config \$DIR/node$nodes/gateway.yaml; sleep 1
  for i in 1 2 3; do curl -sS -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer \$TOKEN" \$URL/auth/whoami; done

  # Each gateway has a journal of the calls that it served. Together they have all.
  for journal in \$DIR/node*/gateway.yaml; do \$GATEWAY audit list --to bob --config \$journal; done

Files and logs: $directory and $services. Ctrl-C stops everything and removes them.
GUIDE
}
