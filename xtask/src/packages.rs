//! The Debian packages that the tests need, and how to come by them.

use std::path::Path;
use std::process::{Command, Stdio};

/// A program that tests start, and where it comes from.
#[derive(Debug, PartialEq, Eq)]
struct Need {
    program: &'static str,
    package: &'static str,
    purpose: &'static str,
}

const NEEDS: [Need; 2] = [
    Need {
        program: "ip",
        package: "iproute2",
        purpose: "the lab builds its links with it",
    },
    Need {
        program: "tc",
        package: "iproute2",
        purpose: "the lab paces its links with it",
    },
];

/// Where programs are looked for besides `PATH`, which often lacks `sbin`.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Installs what is missing if this user may, and returns a sentence for each
/// program that is still missing.
pub fn provide() -> Vec<String> {
    let packages = packages_of(&missing(is_installed));
    if !packages.is_empty() && is_root() {
        install(&packages);
    }
    missing(is_installed).into_iter().map(sentence).collect()
}

fn missing(installed: impl Fn(&str) -> bool) -> Vec<&'static Need> {
    NEEDS
        .iter()
        .filter(|need| !installed(need.program))
        .collect()
}

fn packages_of(needs: &[&Need]) -> Vec<&'static str> {
    let mut packages: Vec<&str> = needs.iter().map(|need| need.package).collect();
    packages.dedup();
    packages
}

fn sentence(need: &Need) -> String {
    let Need {
        program,
        package,
        purpose,
    } = need;
    format!("`{program}` is missing ({purpose}): apt-get install {package}")
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(SYSTEM_FOLDERS);
    folders
        .filter(|it| !it.is_empty())
        .any(|folder| Path::new(folder).join(program).is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|it| it.stdout.trim_ascii() == b"0")
}

/// Asks apt for the packages; whether it worked shows when they are looked for.
fn install(packages: &[&str]) {
    println!("installing {}", packages.join(", "));
    for arguments in [
        vec!["update", "-qq"],
        [
            &["install", "-qq", "-y", "--no-install-recommends"],
            packages,
        ]
        .concat(),
    ] {
        let mut apt = Command::new("apt-get");
        let apt = apt
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(Stdio::null());
        if let Err(error) = apt.status() {
            eprintln!("cannot start apt-get: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{missing, packages_of, sentence};

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let without_tc = missing(|program| program != "tc");

        let sentences: Vec<String> = without_tc.into_iter().map(sentence).collect();

        assert_eq!(
            sentences,
            ["`tc` is missing (the lab paces its links with it): apt-get install iproute2"]
        );
    }

    #[test]
    fn a_package_is_asked_for_once() {
        assert_eq!(packages_of(&missing(|_| false)), ["iproute2"]);
        assert_eq!(packages_of(&missing(|_| true)), Vec::<&str>::new());
    }
}
