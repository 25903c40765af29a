//! Where a controller is or controllers may come to, as in `tcp:10.0.0.1:6653`.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use thiserror::Error;

/// The port on which controllers listen if nothing else is said (OF13 clause
/// 6.3.1).
pub const USUAL_PORT: u16 = 6653;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointTransport {
    Tcp,
    Tls,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub transport: EndpointTransport,
    /// A name or an address.
    pub host: String,
    pub port: u16,
}

/// A text is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseEndpointError {
    /// It does not begin with a transport.
    #[error("begins with neither `tcp:` nor `tls:`, as in `tcp:10.0.0.1:6653`")]
    Transport,
    #[error("names no host, as in `tcp:10.0.0.1:6653`")]
    Host,
    #[error("`{0}` is no port: one is from 1 to 65535")]
    Port(String),
}

impl Endpoint {
    /// Returns the addresses of the host, of which there may be several.
    ///
    /// # Errors
    ///
    /// If nobody knows the name. Asking for one may take seconds.
    pub fn resolve(&self) -> std::io::Result<impl Iterator<Item = SocketAddr>> {
        (self.host.as_str(), self.port).to_socket_addrs()
    }
}

impl FromStr for Endpoint {
    type Err = ParseEndpointError;

    /// Reads `tcp:HOST[:PORT]` or `tls:HOST[:PORT]`; an IPv6 address stands in
    /// brackets.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (transport, place) = match text.split_once(':') {
            Some(("tcp", place)) => (EndpointTransport::Tcp, place),
            // Open vSwitch calls it by its old name.
            Some(("tls" | "ssl", place)) => (EndpointTransport::Tls, place),
            Some(_) | None => return Err(ParseEndpointError::Transport),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(bracketed) => {
                let (host, rest) = bracketed.split_once(']').ok_or(ParseEndpointError::Host)?;
                (host, rest.strip_prefix(':'))
            }
            None => match place.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        if host.is_empty() {
            return Err(ParseEndpointError::Host);
        }
        let port = match port {
            None => USUAL_PORT,
            Some(port) => match port.parse() {
                Ok(port) if port != 0 => port,
                Ok(_) | Err(_) => return Err(ParseEndpointError::Port(port.to_owned())),
            },
        };
        Ok(Self {
            transport,
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            EndpointTransport::Tcp => "tcp",
            EndpointTransport::Tls => "tls",
        };
        match self.host.contains(':') {
            true => write!(f, "{transport}:[{}]:{}", self.host, self.port),
            false => write!(f, "{transport}:{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_was_read() {
        for (text, shown) in [
            ("tcp:10.0.0.1:6633", "tcp:10.0.0.1:6633"),
            ("tls:controller", "tls:controller:6653"),
            ("ssl:controller", "tls:controller:6653"),
            ("tcp:[::1]:6653", "tcp:[::1]:6653"),
            ("tcp:[fe80::1]", "tcp:[fe80::1]:6653"),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();

            assert_eq!(endpoint.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused_with_the_reason() {
        use ParseEndpointError::{Host, Port, Transport};

        for (text, reason) in [
            ("10.0.0.1:6653", Transport),
            ("", Transport),
            ("tcp:", Host),
            ("tcp::6653", Host),
            ("tcp:[::1", Host),
            ("tcp:host:0", Port("0".to_owned())),
            ("tcp:host:65536", Port("65536".to_owned())),
            ("tcp:host:", Port(String::new())),
        ] {
            assert_eq!(text.parse::<Endpoint>(), Err(reason), "{text}");
        }
    }
}
