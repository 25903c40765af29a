#!/bin/sh
# Installs a package in a fresh Debian, runs both services as their units do, admits a flow,
# upgrades, removes, and sees that nothing is left. Called by `cargo xtask deb --try`, in
# namespaces of its own; prints what it finds, and ends with an error at the first surprise.
#
#   try.sh PACKAGE ROOT
set -eu
package=$1
root=$2

say() { echo "  $*"; }
fail() { echo "error: $*" >&2; exit 1; }
inside() { chroot "$root" "$@"; }
# All files but what dpkg and the system keep for themselves.
files() {
    (cd "$root" && find . \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp \) -prune \
        -o -print | grep -v -E '^\./(var/lib/dpkg|var/log|var/cache|etc/.*-$|etc/ld.so.cache)' | sort)
}
# What a unit says of itself, once.
unit() { sed -n "s/^$2=//p" "$root/usr/lib/systemd/system/$1.service" "$root/lib/systemd/system/$1.service" 2> /dev/null | head -1; }
# Makes the folder that systemd makes for a service.
runtime_folder() {
    inside install -d -o taktos -g taktos "/run/$(unit "$1" RuntimeDirectory)"
}
# Runs a service with the user and the capabilities of its unit.
serve() {
    capabilities=$(unit "$1" AmbientCapabilities | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
    rights="--bounding-set=-all"
    [ -z "$capabilities" ] || rights="--inh-caps=-all,$capabilities --ambient-caps=-all,$capabilities --bounding-set=-all,$capabilities"
    # shellcheck disable=SC2086
    (exec chroot "$root" setpriv --reuid "$(unit "$1" User)" --regid "$(unit "$1" Group)" \
        --clear-groups --no-new-privs $rights $(unit "$1" ExecStart)) 2> "$root/tmp/$1.log" &
}
# Waits until a command says something, for ten seconds.
until_says() {
    wanted=$1; shift
    for _ in $(seq 100); do
        if inside "$@" 2> /dev/null | grep -q "$wanted"; then return 0; fi
        sleep 0.1
    done
    inside "$@" || true
    cat "$root"/tmp/*.log >&2
    fail "\`$*\` never said $wanted"
}

mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind /dev "$root/dev"
ip link set lo up
before=$(files)

cp "$package" "$root/tmp/taktos.deb"
begun=$(date +%s)
inside dpkg -i /tmp/taktos.deb > /dev/null
inside taktos --version > /dev/null
say "installed in $(($(date +%s) - begun)) s"
[ -e "$root/usr/share/man/man1/taktos-admit.1.gz" ] || fail "no manual page"
inside bash -n /usr/share/bash-completion/completions/taktos

# A configuration with a mistake is shown with its place.
echo 'htpp = "127.0.0.1:8181"' > "$root/tmp/wrong.toml"
inside taktos controller --config /tmp/wrong.toml 2>&1 | grep -q "did you mean" || fail "a mistake is not shown"

cat > "$root/etc/taktos/network.toml" << 'N'
[scenario]
title = "One switch"
duration = "1 s"
[switches]
s1 = { datapath_id = 1 }
[hosts]
h1 = { at = "s1" }
h2 = { at = "s1" }
N
echo 'network = "/etc/taktos/network.toml"' >> "$root/etc/taktos/controller.toml"
printf 'ports = ["p1", "p2"]\ndpid = 1\n' >> "$root/etc/taktos/switch.toml"
ip link add p1 type veth peer name e1
ip link add p2 type veth peer name e2
for port in p1 e1 p2 e2; do ip link set $port up; done
serve taktos-controller
controller=$!
runtime_folder taktos-switch
serve taktos-switch
switch=$!
until_says "s1" taktos topology
say "both services run, as $(unit taktos-switch User), with $(unit taktos-switch AmbientCapabilities)"
sed 's/^/  switch: /' "$root/tmp/taktos-switch.log"
inside taktos admit trip --source h1 --destination h2 --rate "1 Mbit/s" --frame "160 B" \
    --deadline "20 ms" > /dev/null
until_says "trip" taktos flows
say "a flow is admitted"

# The same again is what an upgrade does; the switch goes on meanwhile.
inside dpkg -i /tmp/taktos.deb > /dev/null 2>&1
grep -q "network.toml" "$root/etc/taktos/controller.toml" || fail "the configuration is not what it was"
kill $controller
wait $controller || true
serve taktos-controller
controller=$!
until_says "trip" taktos flows
say "upgraded: configuration, store and flow are there"

kill $controller $switch
wait $controller $switch || true
inside dpkg -r taktos > /dev/null 2>&1
[ -e "$root/var/lib/taktos/store.redb" ] || fail "removing took the store"
rm -f "$root/etc/taktos/network.toml"
inside dpkg -P taktos > "$root/tmp/purge.log" 2>&1
left=$(files)
[ "$before" = "$left" ] || { echo "$before" > /tmp/before; echo "$left" | diff /tmp/before - ; fail "purging left files"; }
if inside getent passwd taktos; then cat "$root/tmp/purge.log"; fail "purging left the user"; fi
say "removed and purged: nothing is left"
