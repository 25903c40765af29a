//! Whether the files of a cluster are whole, fit together and are valid.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{CommandFactory, Parser};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use thiserror::Error;

use super::authority::Usage;
use super::files::{CONTROLLER, ETCD, TOKENS};
use super::machine::{Machine, MachinesError};
use crate::cli::{Arguments, config_file};
use crate::tls::{TlsError, TlsFiles, certificates, provider, roots};
use crate::web::gate::tokens::{Tokens, TokensError};

/// What is wrong with the files of a cluster.
#[derive(Debug, Error)]
pub enum CheckError {
    /// Nothing there is a machine's.
    #[error("{} has no machine of a cluster: `taktos cluster init` writes them", .0.display())]
    None(PathBuf),
    #[error("cannot read {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    /// What was wrong was said before.
    #[error("{} is not what `taktos controller` takes", .0.display())]
    Options(PathBuf),
    #[error("{} does not say `{key}`", path.display())]
    Missing { path: PathBuf, key: &'static str },
    #[error(transparent)]
    Machines(#[from] MachinesError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("{}: {reason}", path.display())]
    Certificate { path: PathBuf, reason: String },
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// Two files contradict each other.
    #[error("{}: {sentence}", path.display())]
    Contradiction {
        path: PathBuf,
        sentence: &'static str,
    },
}

/// Checks what is in a folder: the files of one machine, or folders of such. Returns the
/// names of the machines.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn check(folder: &Path) -> Result<Vec<String>, CheckError> {
    let folders = machines_in(folder)?;
    let mut seen: Option<BTreeMap<&'static str, String>> = None;
    let mut names = Vec::new();
    for own in folders {
        let (name, shared) = check_machine(&own)?;
        let before = seen.get_or_insert_with(|| shared.clone());
        if *before != shared {
            return Err(CheckError::Contradiction {
                path: own,
                sentence: "its cluster, its tokens or its authorities are not those of the others",
            });
        }
        names.push(name);
    }
    Ok(names)
}

fn machines_in(folder: &Path) -> Result<Vec<PathBuf>, CheckError> {
    let is_machine = |path: &PathBuf| path.join(CONTROLLER).exists();
    let folder = folder.to_owned();
    if is_machine(&folder) {
        return Ok(vec![folder]);
    }
    let entries = fs::read_dir(&folder).map_err(unreadable(&folder))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let found: BTreeSet<PathBuf> = paths.filter(is_machine).collect();
    match found.is_empty() {
        true => Err(CheckError::None(folder)),
        false => Ok(found.into_iter().collect()),
    }
}

/// Checks the files of a machine. Returns its name, and what has to be the same everywhere.
fn check_machine(own: &Path) -> Result<(String, BTreeMap<&'static str, String>), CheckError> {
    let etcd = own.join(ETCD);
    let said = environment(&read(&etcd)?);
    let of_etcd = |key: &'static str| {
        let missing = || CheckError::Missing {
            path: etcd.clone(),
            key,
        };
        said.get(key).cloned().ok_or_else(missing)
    };
    let name = of_etcd("ETCD_NAME")?;
    let all = of_etcd("ETCD_INITIAL_CLUSTER")?;
    let machines = members(&all).ok_or(CheckError::Missing {
        path: etcd.clone(),
        key: "ETCD_INITIAL_CLUSTER",
    })?;
    super::machine::check(&machines)?;
    let found = machines.iter().find(|machine| machine.name == name);
    let machine = found.ok_or(CheckError::Contradiction {
        path: etcd.clone(),
        sentence: "ETCD_NAME is none of ETCD_INITIAL_CLUSTER",
    })?;
    check_options(own, machine)?;
    for (identity, authority, usage) in [
        ("etcd", "etcd-ca", Usage::Both),
        ("etcd-client", "etcd-ca", Usage::Client),
        ("controller", "ca", Usage::Server),
    ] {
        check_identity(own, (identity, authority), machine.address, usage)?;
    }
    let tokens = own.join(TOKENS);
    Tokens::read(&tokens)?;
    let shared = BTreeMap::from([
        ("cluster", all),
        ("word", of_etcd("ETCD_INITIAL_CLUSTER_TOKEN")?),
        (TOKENS, read(&tokens)?),
        ("ca", read(&own.join("ca.pem"))?),
        ("etcd-ca", read(&own.join("etcd-ca.pem"))?),
    ]);
    Ok((name, shared))
}

/// Checks that the controller takes its options, and is where its machine is.
fn check_options(own: &Path, machine: &Machine) -> Result<(), CheckError> {
    let path = own.join(CONTROLLER);
    let text = read(&path)?;
    let given = ["taktos", "controller", "--config"].map(OsString::from);
    let given = given.into_iter().chain([path.clone().into()]).collect();
    let expanded = config_file::expand(&Arguments::command(), given);
    let is_taken = expanded.is_ok_and(|given| match Arguments::try_parse_from(given) {
        Ok(_) => true,
        Err(error) => {
            // Nothing can be done about a closed terminal.
            let _ = error.print();
            false
        }
    });
    if !is_taken {
        return Err(CheckError::Options(path));
    }
    let said: toml::Table = text.parse().map_err(unreadable(&path))?;
    let reached = said.get("cluster").and_then(toml::Value::as_str);
    let reached = reached.and_then(|it| it.parse::<SocketAddr>().ok());
    match reached.is_some_and(|it| it.ip() == machine.address) {
        true => Ok(()),
        false => Err(CheckError::Contradiction {
            path,
            sentence: "`cluster` is not the address that etcd says of this machine",
        }),
    }
}

/// Checks that a key is that of its certificate, which an authority gave to who is at an
/// address, and which is valid.
fn check_identity(
    own: &Path,
    (identity, authority): (&str, &str),
    address: IpAddr,
    usage: Usage,
) -> Result<(), CheckError> {
    let [certificate, authority] = [identity, authority].map(|it| own.join(format!("{it}.pem")));
    let files = TlsFiles {
        option: "--http-tls",
        key: Some(own.join(format!("{identity}-key.pem"))),
        certificate: Some(certificate.clone()),
        authority: None,
        peer_name: None,
    };
    files.listening()?;
    let chain = certificates(&certificate)?;
    let trusted = Arc::new(roots(&authority)?);
    let now = UnixTime::now();
    let wrong = |reason: String| CheckError::Certificate {
        path: certificate.clone(),
        reason,
    };
    if usage != Usage::Client {
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&trusted), provider());
        let verifier = verifier.build().map_err(|it| wrong(it.to_string()))?;
        let name = ServerName::from(address);
        verifier
            .verify_server_cert(&chain[0], &chain[1..], &name, &[], now)
            .map_err(|it| wrong(it.to_string()))?;
    }
    if usage != Usage::Server {
        let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider());
        let verifier = verifier.build().map_err(|it| wrong(it.to_string()))?;
        verifier
            .verify_client_cert(&chain[0], &chain[1..], now)
            .map_err(|it| wrong(it.to_string()))?;
    }
    Ok(())
}

/// Returns the machines of a list of etcd's members.
fn members(list: &str) -> Option<Vec<Machine>> {
    let members = list.split(',').map(|member| {
        let (name, url) = member.split_once('=')?;
        let place: SocketAddr = url.strip_prefix("https://")?.parse().ok()?;
        format!("{name}={}", place.ip()).parse().ok()
    });
    members.collect()
}

/// Returns what a file of variables says.
fn environment(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

fn read(path: &Path) -> Result<String, CheckError> {
    fs::read_to_string(path).map_err(unreadable(path))
}

fn unreadable<E: ToString>(path: &Path) -> impl Fn(E) -> CheckError {
    let path = path.to_owned();
    move |reason| CheckError::File {
        path: path.clone(),
        reason: reason.to_string(),
    }
}
