//! Where switches come to a controller: addresses for plain connections, and such
//! on which both ends prove who they are.
//!
//! A plain connection can be read and forged by anybody on its way, and anybody who
//! reaches a plain address can say that it is a switch: beyond this machine, that is
//! told as a warning.

pub mod address;

use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use linux::controller_loop::{ListenError, MOST_CONNECTIONS, SideEntrance, listen};
use rustls::ServerConfig;
use thiserror::Error;

use crate::tls::claim::Naming;
use crate::tls::complaints::Complaint;
use crate::tls::gate::{Gate, Terms};
use crate::tls::{TlsError, TlsFiles};
use address::{Address, EndpointTransport};

/// What users say about where switches come in.
#[derive(Clone, Debug, clap::Args)]
pub struct OpenFlowOptions {
    /// Where switches connect, as in `127.0.0.1:6653`, for switches of other machines
    /// `0.0.0.0:6653` or, enciphered, `ssl:0.0.0.0:6653`; may be repeated, but one at most
    /// is plain.
    #[arg(
        long = "openflow",
        value_name = "[tcp|ssl:]ADDR[:PORT]",
        value_delimiter = ',',
        default_value = "127.0.0.1:6653"
    )]
    addresses: Vec<Address>,
    /// The controller's certificate for ssl: addresses, in PEM.
    #[arg(long = "openflow-tls-cert", value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// The private key of that certificate, in PEM.
    #[arg(long = "openflow-tls-key", value_name = "FILE")]
    key: Option<PathBuf>,
    /// The certificate of the authority that switches have to be certified by, in
    /// PEM.
    #[arg(long = "openflow-tls-ca", value_name = "FILE")]
    authority: Option<PathBuf>,
    /// Have a switch's certificate bear its datapath id, as the DNS name
    /// `dpid-00000000000000a1`.
    #[arg(long = "openflow-tls-dpid")]
    named: bool,
}

/// Why switches cannot come in.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SouthboundError {
    /// The files do not suffice.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Two addresses are plain.
    #[error("--openflow: {0} and {1} are both plain; give one, or 0.0.0.0 for all addresses")]
    TwoPlain(Address, Address),
    /// There are files for what is not asked for.
    #[error("the --openflow-tls options are for ssl: addresses, and --openflow has none")]
    NothingEnciphered,
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

impl SouthboundError {
    /// Returns whether the machine lacks something; else the user wrote what cannot
    /// be.
    #[must_use]
    pub const fn is_of_the_machine(&self) -> bool {
        match self {
            Self::Listen(_) => true,
            Self::Tls(_) | Self::TwoPlain(..) | Self::NothingEnciphered => false,
        }
    }
}

/// The addresses, open; switches that come wait until they are served.
#[derive(Debug)]
pub struct OpenDoors {
    plain: Option<(TcpListener, Address)>,
    enciphered: Vec<(TcpListener, Address, Terms)>,
}

impl OpenFlowOptions {
    /// Opens all addresses, in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If the options contradict each other, a file cannot be used, or an address is
    /// taken. Nothing is left open then.
    pub fn open(&self) -> Result<OpenDoors, SouthboundError> {
        let of = |transport| {
            let addresses = self.addresses.iter();
            addresses.filter(move |address| address.transport == transport)
        };
        let mut plain = of(EndpointTransport::Tcp);
        let (plain, second) = (plain.next(), plain.next());
        if let (Some(first), Some(second)) = (plain, second) {
            return Err(SouthboundError::TwoPlain(*first, *second));
        }
        let terms = self.terms(of(EndpointTransport::Tls).count())?;
        let plain = plain.map(|address| open(*address)).transpose()?;
        let enciphered = of(EndpointTransport::Tls)
            .zip(terms)
            .map(|(address, terms)| {
                let (listener, address) = open(*address)?;
                Ok((listener, address, terms))
            });
        let enciphered = enciphered.collect::<Result<_, ListenError>>()?;
        Ok(OpenDoors { plain, enciphered })
    }

    /// Returns the terms of each of so many enciphered addresses.
    fn terms(&self, count: usize) -> Result<Vec<Terms>, SouthboundError> {
        let files = [&self.key, &self.certificate, &self.authority];
        if count == 0 {
            let idle = self.named || files.into_iter().any(Option::is_some);
            return match idle {
                true => Err(SouthboundError::NothingEnciphered),
                false => Ok(Vec::new()),
            };
        }
        let config: Arc<ServerConfig> = self.files().listening_to_certified()?;
        let terms = Terms {
            config,
            naming: match self.named {
                true => Naming::DatapathId,
                false => Naming::Any,
            },
            most: MOST_CONNECTIONS,
        };
        Ok(vec![terms; count])
    }

    fn files(&self) -> TlsFiles {
        TlsFiles {
            option: "--openflow-tls",
            key: self.key.clone(),
            certificate: self.certificate.clone(),
            authority: self.authority.clone(),
            peer_name: None,
        }
    }
}

fn open(address: Address) -> Result<(TcpListener, Address), ListenError> {
    let listener = listen(address.place)?;
    // Who asks for port 0 wants to know which one it is.
    let place = listener.local_addr().unwrap_or(address.place);
    Ok((listener, Address { place, ..address }))
}

impl OpenDoors {
    /// Returns what users should know, a line for each address.
    #[must_use]
    pub fn announce(&self) -> Vec<String> {
        let plain = self.plain.iter().map(|(_, address)| match address.place {
            place if place.ip().is_loopback() => format!("switches connect to {address}"),
            _ => format!(
                "switches connect to {address}: warning: anybody who reaches it can act as a \
                 switch, or read and change what is said; ssl: does not allow that"
            ),
        });
        let enciphered = self.enciphered.iter().map(|(_, address, terms)| {
            let named = match terms.naming {
                Naming::Any => "",
                Naming::DatapathId => " of their datapath id",
            };
            format!("switches connect to {address} and show a certificate{named}")
        });
        plain.chain(enciphered).collect()
    }

    /// Returns the listener for plain connections, if there is one, for
    /// [`ControllerHandle::start`](linux::controller_loop::ControllerHandle::start).
    pub fn take_plain(&mut self) -> Option<TcpListener> {
        self.plain.take().map(|(listener, _)| listener)
    }

    /// Begins to let in who proves who it is; `tell` gets who is refused, and why.
    ///
    /// # Errors
    ///
    /// If the process has no threads or descriptors left.
    pub fn serve(
        self,
        entrance: &SideEntrance,
        tell: impl Fn(Complaint) + Clone + Send + Sync + 'static,
    ) -> io::Result<Vec<Gate>> {
        let gates = self.enciphered.into_iter().map(|(listener, _, terms)| {
            let entrance = entrance.clone();
            let take = move |plain: UnixStream, peer| entrance.let_in(plain, peer);
            Gate::open(listener, terms, take, tell.clone())
        });
        gates.collect()
    }
}
