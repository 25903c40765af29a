//! What is written for a machine of a cluster.

use std::path::Path;

use super::machine::{Machine, Service};

/// Where the files of a machine go.
const PLACE: &str = "/etc/taktos/cluster";
/// Where etcd keeps its data there.
const ETCD_DATA: &str = "/var/lib/etcd/taktos";
/// Where the controller keeps its audit log there.
const DATA: &str = "/var/lib/taktos";
pub const TOKENS: &str = "tokens";
pub const CONTROLLER: &str = "controller.toml";
pub const ETCD: &str = "etcd.env";

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FileMode {
    Open = 0o644,
    /// Its owner alone.
    Secret = 0o600,
    Script = 0o755,
}

/// What the files of a machine say.
#[derive(Clone, Copy, Debug)]
pub struct MachineFiles<'a> {
    pub machine: &'a Machine,
    pub all: &'a [Machine],
    /// The folder in which its files stay, if they do.
    pub here: Option<&'a Path>,
    /// What no other cluster is called.
    pub cluster_word: &'a str,
}

impl MachineFiles<'_> {
    /// Returns the files, each by its name.
    pub fn files(&self) -> Vec<(&'static str, String, FileMode)> {
        let script = match self.here {
            Some(here) => ("start.sh", start(here), FileMode::Script),
            None => ("install.sh", INSTALL.to_owned(), FileMode::Script),
        };
        vec![
            (ETCD, self.etcd(), FileMode::Open),
            (CONTROLLER, self.controller(), FileMode::Open),
            script,
        ]
    }

    fn place(&self) -> String {
        self.here
            .map_or_else(|| PLACE.to_owned(), |here| here.display().to_string())
    }

    fn etcd(&self) -> String {
        let (name, place) = (&self.machine.name, self.place());
        let data = match self.here {
            Some(_) => format!("{place}/etcd-data"),
            None => ETCD_DATA.to_owned(),
        };
        let clients = self.machine.at(Service::EtcdClients);
        let members = self.machine.at(Service::EtcdMembers);
        let all = self.all.iter();
        let all: Vec<String> = all
            .map(|it| format!("{}=https://{}", it.name, it.at(Service::EtcdMembers)))
            .collect();
        let (all, word) = (all.join(","), self.cluster_word);
        format!(
            "\
# Options of etcd on machine {name}, as `taktos cluster init` wrote them.
ETCD_NAME=\"{name}\"
ETCD_DATA_DIR=\"{data}\"
ETCD_LISTEN_CLIENT_URLS=\"https://{clients}\"
ETCD_ADVERTISE_CLIENT_URLS=\"https://{clients}\"
ETCD_LISTEN_PEER_URLS=\"https://{members}\"
ETCD_INITIAL_ADVERTISE_PEER_URLS=\"https://{members}\"
ETCD_INITIAL_CLUSTER=\"{all}\"
ETCD_INITIAL_CLUSTER_TOKEN=\"taktos-{word}\"
ETCD_INITIAL_CLUSTER_STATE=\"new\"
# Nobody but who is certified reads or writes.
ETCD_CLIENT_CERT_AUTH=\"true\"
ETCD_TRUSTED_CA_FILE=\"{place}/etcd-ca.pem\"
ETCD_CERT_FILE=\"{place}/etcd.pem\"
ETCD_KEY_FILE=\"{place}/etcd-key.pem\"
ETCD_PEER_CLIENT_CERT_AUTH=\"true\"
ETCD_PEER_TRUSTED_CA_FILE=\"{place}/etcd-ca.pem\"
ETCD_PEER_CERT_FILE=\"{place}/etcd.pem\"
ETCD_PEER_KEY_FILE=\"{place}/etcd-key.pem\"
"
        )
    }

    fn controller(&self) -> String {
        let (name, place) = (&self.machine.name, self.place());
        let data = match self.here {
            Some(_) => format!("{place}/data"),
            None => DATA.to_owned(),
        };
        // It asks the member beside it first.
        let others = self.all.iter().filter(|it| *it != self.machine);
        let members = std::iter::once(self.machine).chain(others);
        let members: Vec<String> = members
            .map(|it| format!("\"https://{}\"", it.at(Service::EtcdClients)))
            .collect();
        let members = members.join(", ");
        let [switches, instances, programs] =
            [Service::Switches, Service::Instances, Service::Programs]
                .map(|service| self.machine.at(service));
        format!(
            "\
# Options of `taktos controller` on machine {name}, as `taktos cluster init` wrote them. All
# machines need the same `tokens`, `network`, `profile` and `app`.
id = \"{name}\"
# Where switches connect: give each switch all machines.
openflow = [\"{switches}\"]
# Where programs ask.
http = \"{programs}\"
http-tls-cert = \"{place}/controller.pem\"
http-tls-key = \"{place}/controller-key.pem\"
tokens = \"{place}/{TOKENS}\"
# Where the others reach it, and whom it trusts to be one.
cluster = \"{instances}\"
cluster-ca = \"{place}/ca.pem\"
# What is promised is kept there.
etcd = [{members}]
etcd-ca = \"{place}/etcd-ca.pem\"
etcd-cert = \"{place}/etcd-client.pem\"
etcd-key = \"{place}/etcd-client-key.pem\"
# Who did what here.
data = \"{data}\"
"
        )
    }
}

/// Puts the files of a machine in place.
const INSTALL: &str = r#"#!/bin/sh
# Puts what is in this folder in place, as root, on a Debian machine that has the packages
# taktos and etcd-server; starts etcd and the controller.
set -eu
cd "$(dirname "$0")"
place=/etc/taktos/cluster
install -d -m 755 "$place"
install -m 644 ./*.pem etcd.env controller.toml "$place"
install -m 640 -g etcd etcd-key.pem "$place"
install -m 640 -g taktos controller-key.pem etcd-client-key.pem tokens "$place"
install -d -m 700 -o etcd -g etcd /var/lib/etcd/taktos
for unit in etcd taktos-controller; do
    install -d "/etc/systemd/system/$unit.service.d"
done
cat >/etc/systemd/system/etcd.service.d/taktos.conf <<'END'
[Service]
EnvironmentFile=/etc/taktos/cluster/etcd.env
END
cat >/etc/systemd/system/taktos-controller.service.d/cluster.conf <<'END'
[Unit]
After=etcd.service
[Service]
ExecStart=
ExecStart=/usr/bin/taktos controller --config /etc/taktos/cluster/controller.toml
END
systemctl daemon-reload
systemctl enable etcd taktos-controller
# The first member of etcd waits for more than half of the others.
systemctl restart --no-block etcd taktos-controller
echo "started; taktos instances --url https://MACHINE:8181 --ca ca.pem shows who decides"
"#;

/// Returns what runs the services of a machine in the folder where they were written.
fn start(here: &Path) -> String {
    let here = here.display();
    format!(
        r#"#!/bin/sh
# Runs etcd and the controller of this folder until it is stopped.
set -eu
set -a
. '{here}/etcd.env'
set +a
mkdir -p '{here}/data'
"${{TAKTOS_ETCD:-etcd}}" --log-level error &
etcd=$!
"${{TAKTOS:-taktos}}" controller --config '{here}/controller.toml' &
controller=$!
trap 'kill $controller $etcd 2>/dev/null' INT TERM EXIT
wait $controller
"#
    )
}

/// Says what to do with what was written.
pub fn introduction(folder: &Path, machines: &[Machine], here: bool) -> String {
    let folder = folder.display();
    let first = &machines[0];
    let asked = first.at(Service::Programs);
    let ask = format!(
        "taktos instances --url https://{asked} --ca {folder}/ca.pem --token-file \
         {folder}/operator-token"
    );
    let mut text = format!("{folder}: whole, and fits together\n\n");
    match here {
        true => {
            for machine in machines {
                text += &format!("    {folder}/{}/start.sh &\n", machine.name);
            }
        }
        false => {
            for machine in machines {
                let (name, address) = (&machine.name, machine.address);
                text += &format!(
                    "    scp -r {folder}/{name} root@{address}: && ssh root@{address} \
                     {name}/install.sh\n"
                );
            }
        }
    }
    text += &format!("    {ask}\n");
    if !here {
        text += &format!(
            "\nKeep {folder}/authority away from all of them: whoever has it can be any of \
             them.\n"
        );
    }
    text
}
