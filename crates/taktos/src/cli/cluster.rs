//! `taktos cluster`: what machines need whose controllers are one cluster (S1-3).
//!
//! A folder is written with one for each machine in it: options of etcd and of the
//! controller, certificates, tokens, and a script that puts them in place. Etcd has an
//! authority of its own, so that who is certified for anything else opens nothing there.

mod authority;
mod check;
mod files;
mod machine;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use self::authority::{Authority, Identity, Usage};
use self::check::CheckError;
use self::files::{FileMode, MachineFiles};
use self::machine::{Machine, MachinesError};
use super::exit::Exit;
use super::screen::{print, say};
use crate::web::gate::Role;
use crate::web::gate::tokens::{self, TokensError};

/// What `taktos cluster` is told.
#[derive(Debug, clap::Args)]
pub struct ClusterArgs {
    #[command(subcommand)]
    job: Job,
}

#[derive(Debug, clap::Subcommand)]
enum Job {
    /// Write what each machine of a cluster needs: options of etcd and of the controller,
    /// certificates, tokens.
    Init(Init),
    /// Look whether what was written is whole, fits together and is valid today.
    Check(Check),
}

/// What `taktos cluster init` is told.
#[derive(Debug, clap::Args)]
struct Init {
    /// The folder to make.
    folder: PathBuf,
    /// Each machine by a name and the address at which the others reach it, as in
    /// `a=10.0.0.1 b=10.0.0.2 c=10.0.0.3`.
    #[arg(value_name = "NAME=ADDRESS", required = true)]
    machines: Vec<Machine>,
    /// To try a cluster on this machine: files stay where they are written, and start.sh
    /// runs what is in a folder; addresses may be 127.0.0.1, 127.0.0.2 and 127.0.0.3.
    #[arg(long)]
    here: bool,
    /// For how many days certificates are valid.
    #[arg(long, value_name = "NUMBER", default_value_t = 3650,
          value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

/// What `taktos cluster check` is told.
#[derive(Debug, clap::Args)]
struct Check {
    /// The folder that `taktos cluster init` made.
    folder: PathBuf,
}

/// Why no cluster is written.
#[derive(Debug, Error)]
enum InitError {
    #[error(transparent)]
    Machines(#[from] MachinesError),
    /// The keys of what is there would be lost.
    #[error("{} is there already: name a folder that is not", .0.display())]
    Taken(PathBuf),
    /// A path could not be written into a script or a file of options.
    #[error("{} has quotes, backslashes or line ends in it: name another folder", .0.display())]
    Quoted(PathBuf),
    #[error("cannot write {}: {reason}", path.display())]
    File { path: PathBuf, reason: io::Error },
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error(transparent)]
    Tokens(#[from] TokensError),
    #[error("what was written does not fit together: {0}")]
    Check(#[from] CheckError),
}

impl InitError {
    const fn exit(&self) -> Exit {
        match self {
            Self::Machines(_) | Self::Taken(_) | Self::Quoted(_) => Exit::BadInput,
            Self::File { .. } | Self::Tokens(_) => Exit::Lacking,
            Self::Certificate(_) | Self::Check(_) => Exit::Fault,
        }
    }
}

/// Writes what a cluster needs, or checks it.
pub fn cluster(arguments: &ClusterArgs) -> Exit {
    match &arguments.job {
        Job::Init(arguments) => init(arguments),
        Job::Check(arguments) => check(&arguments.folder),
    }
}

fn init(arguments: &Init) -> Exit {
    match write(arguments) {
        Ok(()) => tell(&files::introduction(
            &arguments.folder,
            &arguments.machines,
            arguments.here,
        )),
        Err(error) => {
            say(format_args!("taktos: {error}"));
            error.exit()
        }
    }
}

fn check(folder: &Path) -> Exit {
    match check::check(folder) {
        Ok(names) => tell(&format!("{}: whole, and valid today\n", names.join(", "))),
        Err(error) => {
            say(format_args!("taktos: {error}"));
            Exit::BadInput
        }
    }
}

fn tell(result: &str) -> Exit {
    match print(result) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::Fault,
    }
}

fn write(arguments: &Init) -> Result<(), InitError> {
    machine::check(&arguments.machines)?;
    let folder = &arguments.folder;
    make_folder(folder)?;
    let folder = &fs::canonicalize(folder).map_err(failed(folder))?;
    let is_odd = |it: char| it.is_control() || ['\'', '"', '\\', '$', '`'].contains(&it);
    if folder.to_str().is_none_or(|path| path.contains(is_odd)) {
        let _ = fs::remove_dir(folder);
        return Err(InitError::Quoted(folder.clone()));
    }
    let kept = folder.join("authority");
    make_folder(&kept)?;
    let etcd = Authority::new("etcd-ca", arguments.days)?;
    let controllers = Authority::new("ca", arguments.days)?;
    for authority in [&etcd, &controllers] {
        put_identity(&kept, authority.name, &authority.own())?;
    }
    let certificate = controllers.own().certificate;
    put(&folder.join("ca.pem"), &certificate, FileMode::Open)?;
    let tokens = folder.join(files::TOKENS);
    let token = format!(
        "{}\n",
        tokens::make(&tokens, "operator", Role::Administer, None)?
    );
    put(&folder.join("operator-token"), &token, FileMode::Secret)?;
    let tokens = fs::read_to_string(&tokens).map_err(failed(&tokens))?;
    for machine in &arguments.machines {
        let own = folder.join(&machine.name);
        make_folder(&own)?;
        put(&own.join(files::TOKENS), &tokens, FileMode::Secret)?;
        write_machine(arguments, &own, machine, [&etcd, &controllers])?;
    }
    check::check(folder)?;
    Ok(())
}

/// Writes the options of a machine, and what certifies it.
fn write_machine(
    arguments: &Init,
    own: &Path,
    machine: &Machine,
    [etcd, controllers]: [&Authority; 2],
) -> Result<(), InitError> {
    let described = MachineFiles {
        machine,
        all: &arguments.machines,
        here: arguments.here.then_some(own),
        cluster_word: &etcd.word(),
    };
    for (name, text, mode) in described.files() {
        put(&own.join(name), &text, mode)?;
    }
    for (name, authority, usage) in [
        ("etcd", etcd, Usage::Both),
        ("etcd-client", etcd, Usage::Client),
        ("controller", controllers, Usage::Server),
    ] {
        let identity = authority.certify(machine, usage, arguments.days)?;
        put_identity(own, name, &identity)?;
    }
    for authority in [etcd, controllers] {
        let path = own.join(format!("{}.pem", authority.name));
        put(&path, &authority.own().certificate, FileMode::Open)?;
    }
    Ok(())
}

fn put_identity(folder: &Path, name: &str, identity: &Identity) -> Result<(), InitError> {
    let key = folder.join(format!("{name}-key.pem"));
    put(&key, &identity.key, FileMode::Secret)?;
    let certificate = folder.join(format!("{name}.pem"));
    put(&certificate, &identity.certificate, FileMode::Open)
}

/// Makes a folder for its owner alone.
fn make_folder(path: &Path) -> Result<(), InitError> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(InitError::Taken(path.to_owned()))
        }
        Err(reason) => Err(failed(path)(reason)),
    }
}

fn put(path: &Path, text: &str, mode: FileMode) -> Result<(), InitError> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(mode as u32);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> InitError {
    let path = path.to_owned();
    move |reason| InitError::File {
        path: path.clone(),
        reason,
    }
}
