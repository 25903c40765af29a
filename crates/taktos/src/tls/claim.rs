//! Whether a switch is the one that its certificate names.
//!
//! Whoever has a certificate of the authority may be any switch, unless this is
//! asked for: then the datapath id that a switch states has to be a name of its
//! certificate, as in `dpid-00000000000000a1`. Only the first statement counts, for
//! the controller as well.

use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use wire::openflow::{DatapathId, Framer, Message};

use super::refusal::TlsRefusal;

/// Whose certificates name the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// A certificate may be of any switch.
    Any,
    /// A certificate has to name the datapath id.
    DatapathId,
}

/// A switch that has not stated yet which one it is.
#[derive(Debug)]
pub struct Claim {
    framer: Framer,
    certificate: CertificateDer<'static>,
}

/// Whether there is something left to listen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// It has not said who it is.
    NotYet,
    /// It has, and it is.
    Settled,
}

impl Claim {
    /// Begins to listen to whoever has shown this certificate.
    #[must_use]
    pub fn new(certificate: CertificateDer<'static>) -> Self {
        Self {
            framer: Framer::new(),
            certificate,
        }
    }

    /// Listens to what it says next.
    ///
    /// # Errors
    ///
    /// If it says that it is another one than its certificate says.
    pub fn listen(&mut self, bytes: &[u8]) -> Result<Listening, TlsRefusal> {
        self.framer.push(bytes);
        // Whoever does not speak OpenFlow is found out by the controller.
        while let Ok(Some(message)) = self.framer.next_message() {
            if let Ok((_, Message::FeaturesReply(features))) = Message::parse(message) {
                return match bears(&self.certificate, features.datapath) {
                    true => Ok(Listening::Settled),
                    false => Err(TlsRefusal::Impostor(features.datapath)),
                };
            }
        }
        Ok(Listening::NotYet)
    }
}

/// Returns whether a certificate names this switch.
fn bears(certificate: &CertificateDer<'_>, datapath: DatapathId) -> bool {
    let name = ServerName::try_from(format!("dpid-{datapath}")).expect("letters and digits");
    ParsedCertificate::try_from(certificate)
        .and_then(|certificate| verify_server_name(&certificate, &name))
        .is_ok()
}
