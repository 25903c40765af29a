//! Who certifies the machines of a cluster.

use std::net::Ipv4Addr;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};

use super::machine::Machine;

const DAY: Duration = Duration::from_hours(24);

/// What a certificate is shown for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    Client,
    Server,
    /// Members of etcd are servers of each other and of clients, and ask by the same.
    Both,
}

/// A certificate and its key, in PEM.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// An authority, with its key.
pub struct Authority {
    /// What its files are called.
    pub name: &'static str,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes an authority that is valid for so many days.
    ///
    /// # Errors
    ///
    /// If the machine gives no random numbers.
    pub fn new(name: &'static str, days: u32) -> Result<Self, Error> {
        let mut params = valid(Vec::new(), days)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        // No two authorities have the same name.
        let own = format!("Taktos {name} {}", word(&key));
        params.distinguished_name.push(DnType::CommonName, own);
        let issuer = CertifiedIssuer::self_signed(params, key)?;
        Ok(Self { name, issuer })
    }

    /// Returns its own certificate and key.
    pub fn own(&self) -> Identity {
        Identity {
            certificate: self.issuer.pem(),
            key: self.issuer.key().serialize_pem(),
        }
    }

    /// Returns a word that no other authority has.
    pub fn word(&self) -> String {
        word(self.issuer.key())
    }

    /// Returns a certificate for a machine, by its name and address, and the key of that.
    ///
    /// # Errors
    ///
    /// If the machine gives no random numbers.
    pub fn certify(&self, machine: &Machine, usage: Usage, days: u32) -> Result<Identity, Error> {
        let mut names = vec![machine.name.clone(), machine.address.to_string()];
        // Etcd looks whether a member comes from where its certificate says, and whoever asks
        // at another address of loopback comes from this one.
        if machine.address.is_loopback() {
            names.push(Ipv4Addr::LOCALHOST.to_string());
        }
        let mut params = valid(names, days)?;
        params
            .distinguished_name
            .push(DnType::CommonName, machine.name.clone());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = match usage {
            Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
            Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Usage::Both => vec![
                ExtendedKeyUsagePurpose::ServerAuth,
                ExtendedKeyUsagePurpose::ClientAuth,
            ],
        };
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// Returns what is valid from yesterday on, as clocks differ.
fn valid(names: Vec<String>, days: u32) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(names)?;
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now + DAY * days).into();
    Ok(params)
}

fn word(key: &KeyPair) -> String {
    // The first byte says how the others are written.
    let bytes = &key.public_key_raw()[1..9];
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
