//! Other projects' programs that tests run beside ours: Debian packages, and
//! Python packages in environments of their own ([`python`]).

use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::python;
use crate::workspace::Workspace;

/// Python environments, by their lists in `neighbours/`.
const ENVIRONMENTS: [&str; 3] = ["faucet", "open61850", "os-ken"];
/// Programs, with arguments that try them out, and the Debian package of each.
const PROGRAMS: [(&str, &[&str], &str); 14] = [
    ("/usr/lib/frr/bfdd", &["--version"], "frr"),
    ("/usr/lib/frr/bgpd", &["--version"], "frr"),
    ("bird", &["--version"], "bird2"),
    ("etcd", &["--version"], "etcd-server"),
    ("gobgpd", &["--version"], "gobgpd"),
    ("ip", &["-V"], "iproute2"),
    ("mn", &["--version"], "mininet"),
    ("ovs-vswitchd", &["--version"], "openvswitch-switch"),
    ("ovs-ofctl", &["--version"], "openvswitch-switch"),
    (
        "ovs-testcontroller",
        &["--version"],
        "openvswitch-testcontroller",
    ),
    ("ping", &["-V"], "iputils-ping"),
    ("prometheus", &["--version"], "prometheus"),
    ("python3", &["-c", "import ensurepip, venv"], "python3-venv"),
    ("tshark", &["--version"], "tshark"),
];

/// Makes the Python environments where they can be made, and says which cannot:
/// tests that need them are skipped.
pub fn offer(workspace: &Workspace) {
    for name in ENVIRONMENTS {
        if let Err(failure) = python::environment(workspace, name) {
            eprintln!("note: {failure}: tests with {name} skip");
        }
    }
}

/// Installs whatever is missing, as continuous integration does.
///
/// # Errors
///
/// If a package cannot be installed.
pub fn demand(workspace: &Workspace) -> Result<(), Failure> {
    let packages = missing_packages();
    if !packages.is_empty() {
        println!("installing {}", packages.join(", "));
        let install = ["install", "--yes", "--no-install-recommends"];
        let installed = apt_get(&["update"])? && apt_get(&[&install[..], &packages[..]].concat())?;
        if !installed {
            let sentence = format!("apt-get could not install {}", packages.join(", "));
            return Err(Failure::Missing(sentence));
        }
    }
    for name in ENVIRONMENTS {
        python::environment(workspace, name)?;
    }
    Ok(())
}

/// Returns the Debian packages of the programs that are not there.
pub fn missing_packages() -> Vec<&'static str> {
    let missing = PROGRAMS.iter().filter(|(program, arguments, _)| {
        let mut command = Command::new(program);
        let command = command
            .args(*arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        !command.status().is_ok_and(|it| it.success())
    });
    let mut packages: Vec<_> = missing.map(|(_, _, package)| *package).collect();
    packages.dedup();
    packages
}

/// Runs `apt-get`, which is to start no service, and returns whether it
/// succeeded.
fn apt_get(arguments: &[&str]) -> Result<bool, Failure> {
    let mut command = Command::new("apt-get");
    let command = command
        .arg("--quiet=2")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("RUNLEVEL", "1")
        .stdin(Stdio::null());
    let status = command.status().map_err(|error| Failure::Program {
        name: "apt-get".to_owned(),
        error,
    })?;
    Ok(status.success())
}
