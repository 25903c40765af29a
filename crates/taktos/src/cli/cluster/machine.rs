//! The machines of a cluster.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use thiserror::Error;

/// The most machines: each answer of etcd waits for more than half of them.
const MOST: usize = 7;
const LONGEST_NAME: usize = 32;
/// Names of files beside the folders of machines.
const RESERVED: [&str; 1] = ["authority"];

/// Where a machine's services are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    EtcdClients,
    EtcdMembers,
    Switches,
    Instances,
    Programs,
}

impl Service {
    const fn port(self) -> u16 {
        match self {
            Self::EtcdClients => 2379,
            Self::EtcdMembers => 2380,
            Self::Switches => 6653,
            Self::Instances => 6680,
            Self::Programs => 8181,
        }
    }
}

/// A machine: its name, and the address at which the others reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    pub name: String,
    pub address: IpAddr,
}

impl Machine {
    pub const fn at(&self, service: Service) -> SocketAddr {
        SocketAddr::new(self.address, service.port())
    }
}

/// Why a machine is none, or several are no cluster.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MachinesError {
    #[error("`{0}` is no machine: write its name and its address, as in a=10.0.0.1")]
    Form(String),
    #[error(
        "`{0}` is no name of a machine: 1 to {LONGEST_NAME} small letters, digits and hyphens, \
         beginning with a letter, and not `authority`"
    )]
    Name(String),
    /// Nobody reaches a machine there.
    #[error("{0} is no address at which another machine reaches one")]
    Address(IpAddr),
    #[error("two machines have the {0}")]
    Twice(String),
    #[error("{0} machines are more than {MOST}: each answer waits for more than half of them")]
    TooMany(usize),
    #[error(
        "two machines keep nothing that one would not: if either fails, etcd stands still. Name \
         one or three"
    )]
    Two,
}

impl FromStr for Machine {
    type Err = MachinesError;

    fn from_str(text: &str) -> Result<Self, MachinesError> {
        let form = || MachinesError::Form(text.to_owned());
        let (name, address) = text.split_once('=').ok_or_else(form)?;
        let address: IpAddr = address.parse().map_err(|_| form())?;
        let is_name = name.len() <= LONGEST_NAME
            && name.starts_with(|it: char| it.is_ascii_lowercase())
            && name
                .bytes()
                .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
            && !RESERVED.contains(&name);
        if !is_name {
            return Err(MachinesError::Name(name.to_owned()));
        }
        if address.is_unspecified() || address.is_multicast() {
            return Err(MachinesError::Address(address));
        }
        Ok(Self {
            name: name.to_owned(),
            address,
        })
    }
}

/// Checks that machines can be one cluster.
///
/// # Errors
///
/// Why they cannot.
pub fn check(machines: &[Machine]) -> Result<(), MachinesError> {
    match machines.len() {
        2 => return Err(MachinesError::Two),
        count if count > MOST => return Err(MachinesError::TooMany(count)),
        _ => {}
    }
    let (mut names, mut addresses) = (BTreeSet::new(), BTreeSet::new());
    for machine in machines {
        if !names.insert(&machine.name) {
            return Err(MachinesError::Twice(format!("name {}", machine.name)));
        }
        if !addresses.insert(machine.address) {
            return Err(MachinesError::Twice(format!("address {}", machine.address)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(texts: &[&str]) -> Result<Vec<Machine>, MachinesError> {
        texts.iter().map(|text| text.parse()).collect()
    }

    #[test]
    fn what_no_machine_could_be_is_refused() {
        for text in [
            "10.0.0.1",
            "a=",
            "a=10.0.0.1:80",
            "a=host",
            "=10.0.0.1",
            "A=10.0.0.1",
            "../x=10.0.0.1",
            "authority=10.0.0.1",
            "a=0.0.0.0",
            "a=::",
            "a=224.0.0.1",
        ] {
            assert!(text.parse::<Machine>().is_err(), "{text}");
        }
    }

    #[test]
    fn machines_have_names_and_addresses_of_their_own() {
        let three = machines(&["a=10.0.0.1", "b=10.0.0.2", "c=fd00::3"]).unwrap();
        let twice = machines(&["a=10.0.0.1", "b=10.0.0.2", "a=10.0.0.3"]).unwrap();
        let same = machines(&["a=10.0.0.1", "b=10.0.0.2", "c=10.0.0.1"]).unwrap();

        assert_eq!(check(&three), Ok(()));
        assert_eq!(
            check(&twice),
            Err(MachinesError::Twice("name a".to_owned()))
        );
        let address = "address 10.0.0.1".to_owned();
        assert_eq!(check(&same), Err(MachinesError::Twice(address)));
        assert_eq!(check(&three[..2]), Err(MachinesError::Two));
    }
}
