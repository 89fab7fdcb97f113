"""Prints a CycloneDX 1.5 document of the program's components. deploy/sbom calls it and documents it.

Arguments: the repository, the build directory, and the output of `swift package show-dependencies --format json`.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

# The system libraries that the program is linked to, by the name that the dynamic linker loads (SONAME).
SYSTEM_LIBRARIES = ["libc.so.6", "libcrypt.so.1", "libcrypto.so.3", "liblber-2.5.so.0", "libldap-2.5.so.0",
                    "libpam.so.0", "libpq.so.5", "libsqlite3.so.0"]


def stop(reason):
    print(f"deploy/sbom: {reason}", file=sys.stderr)
    sys.exit(1)


def run(*command):
    """Returns the output of a command, or None if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def quoted(text):
    return urllib.parse.quote(text, safe="-._~:")


def repository(location):
    """Returns the host and path of a repository: github.com/apple/swift-nio for https://github.com/apple/swift-nio.git."""
    parts = urllib.parse.urlsplit(location)
    if parts.scheme != "https" or not parts.netloc:
        stop(f"{location} is not an https URL, so it has no purl")
    return (parts.netloc + parts.path).removesuffix("/").removesuffix(".git")


def pins(root):
    """Returns the pins of Package.resolved by package identity."""
    file = root / "Package.resolved"
    if not file.exists():
        stop(f"{file} is missing; run `swift package resolve`")
    found = {pin["identity"]: pin for pin in json.loads(file.read_text())["pins"]}
    for identity, pin in found.items():
        if "version" not in pin["state"]:
            stop(f"{identity} is not pinned to a version in Package.resolved")
    return found


def checked_out(build):
    """Returns the checkouts in the build directory: package identity to (version, revision)."""
    state = json.loads((build / "workspace-state.json").read_text())
    return {
        entry["packageRef"]["identity"]: (
            entry["state"].get("checkoutState", {}).get("version"),
            entry["state"].get("checkoutState", {}).get("revision"),
        )
        for entry in state["object"]["dependencies"]
    }


def vendored_boringssl(checkout):
    """Yields the BoringSSL that a package contains as components; swift-nio-ssl and swift-crypto name its revision in a file."""
    for file in sorted(checkout.glob("Sources/*/hash.txt")):
        match = re.search(r"(https://boringssl\S+) at revision ([0-9a-f]{40})", file.read_text())
        if match:
            address, revision = match.groups()
            vcs = urllib.parse.quote(f"git+{address}@{revision}", safe="-._~:/")
            purl = f"pkg:generic/boringssl@{revision}?vcs_url={vcs}"
            yield {"type": "library", "bom-ref": purl, "name": "boringssl", "version": revision, "purl": purl}


def swift_components(graph, pinned, present):
    """Returns the components of the packages, the direct dependencies of the root package, and the dependencies of each."""
    components, depends = {}, {}

    def visit(node):
        identity = node["identity"]
        if identity not in pinned:
            stop(f"{identity} is in the dependency graph but not in Package.resolved; run `swift package resolve`")
        state = pinned[identity]["state"]
        if present.get(identity) != (state["version"], state["revision"]):
            stop(f"{identity} is checked out as {present.get(identity)}, but Package.resolved pins {state}; build again")
        place = repository(pinned[identity]["location"])
        purl = f"pkg:swift/{place}@{quoted(state['version'])}"
        if identity not in components:
            address = f"https://{place}"
            commit = {"uid": state["revision"]}
            if place.startswith("github.com/"):
                commit["url"] = f"{address}/commit/{state['revision']}"
            component = {
                "type": "library", "bom-ref": purl, "name": pinned[identity]["location"].rsplit("/", 1)[1].removesuffix(".git"),
                "version": state["version"], "purl": purl, "pedigree": {"commits": [commit]},
                "externalReferences": [{"type": "vcs", "url": pinned[identity]["location"]}],
            }
            inside = list(vendored_boringssl(pathlib.Path(node["path"])))
            if inside:
                component["components"] = inside
            components[identity] = component
            depends[purl] = sorted({visit(child) for child in node["dependencies"]} | {part["bom-ref"] for part in inside})
        return purl

    direct = sorted(visit(node) for node in graph["dependencies"])
    return list(components.values()), direct, depends


def swift_runtime():
    """Returns the component of the Swift runtime that the toolchain links into the program."""
    match = re.search(r"\((swift-([0-9.]+)[^)]*)\)", os.environ.get("NOTIFY_GATEWAY_SWIFT", ""))
    if not match:
        stop("`swift --version` prints no release name")
    purl = f"pkg:github/swiftlang/swift@{quoted(match[1])}"
    return {"type": "framework", "bom-ref": purl, "name": "swift", "version": match[2], "purl": purl}


def debian_component(library, architecture, distribution):
    """Returns the component of the Debian package that contains the library, with the library's hash."""
    places = [
        line.split(": ", 1) for line in (run("dpkg-query", "--search", f"*/{library}") or "").splitlines() if ": " in line
    ]
    for owner, file in places:
        name, _, built = owner.partition(":")
        if built in ("", architecture) and pathlib.Path(file).name == library and pathlib.Path(file).exists():
            break
    else:
        stop(f"no installed Debian package contains {library} for {architecture}; run deploy/quickstart, which installs it")
    version = run("dpkg-query", "--show", "--showformat=${Version}", owner)
    source = run("dpkg-query", "--show", "--showformat=${source:Package}", owner)
    purl = f"pkg:deb/{quoted(distribution['ID'])}/{quoted(name)}@{quoted(version)}?arch={architecture}"
    if distribution.get("VERSION_ID"):
        purl += f"&distro={quoted(distribution['ID'] + '-' + distribution['VERSION_ID'])}"
    content = pathlib.Path(file).resolve()
    return {
        "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
        "properties": [{"name": "debian:source", "value": source}],
        "components": [{
            "type": "file", "bom-ref": f"file:{library}", "name": library,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content.read_bytes()).hexdigest()}],
        }],
    }


def debian_components(architecture, distribution):
    """Returns the components of the Debian packages of the system libraries. A package may contain several of them."""
    packages = {}
    for library in SYSTEM_LIBRARIES:
        component = debian_component(library, architecture, distribution)
        package = packages.setdefault(component["bom-ref"], component)
        if package is not component:
            package["components"] += component["components"]
    return list(packages.values())


def os_release():
    lines = pathlib.Path("/etc/os-release").read_text().splitlines()
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}


def timestamp(root):
    """Returns the time of the commit, so that the same tree gives the same document."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "-C", str(root), "log", "-1", "--format=%ct")
    when = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc) if seconds else datetime.datetime.now(
        datetime.timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def main():
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    graph = json.loads(pathlib.Path(sys.argv[3]).read_text())
    version = run(str(root / "deploy/lib/program-version"), str(root))
    if not version:
        stop("deploy/lib/program-version does not tell the version of the program")
    packages, direct, depends = swift_components(graph, pins(root), checked_out(build))
    runtime = swift_runtime()
    architecture = run("dpkg", "--print-architecture")
    distribution = os_release()
    system = debian_components(architecture, distribution)

    program = f"notify-gateway@{version}"
    own = sorted(direct + [runtime["bom-ref"]] + [component["bom-ref"] for component in system])
    components = sorted(packages + [runtime] + system, key=lambda component: component["bom-ref"])
    depends = {program: own, runtime["bom-ref"]: []} | depends | {component["bom-ref"]: [] for component in system}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(root),
            "tools": {"components": [{"type": "application", "name": "deploy/sbom", "version": version}]},
            "component": {"type": "application", "bom-ref": program, "name": "notify-gateway", "version": version},
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": depends[ref]} for ref in sorted(depends)],
    }
    # The serial number is derived from the content: the same document has the same number.
    content = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(content.encode()).hexdigest())}"
    json.dump(document, sys.stdout, indent=2, sort_keys=True)
    print()


main()
