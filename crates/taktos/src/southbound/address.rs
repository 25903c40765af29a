//! An address at which switches connect, as in `ssl:0.0.0.0:6653`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use thiserror::Error;

pub use crate::datapath::endpoint::EndpointTransport;
use crate::datapath::endpoint::USUAL_PORT;

/// An address of this machine, and how bytes are carried there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub transport: EndpointTransport,
    pub place: SocketAddr,
}

/// A text is no such address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no address of this machine, as in `0.0.0.0:6653` or `ssl:[::]:6653`")]
pub struct ParseAddressError(String);

impl FromStr for Address {
    type Err = ParseAddressError;

    /// Reads `[tcp:|ssl:|tls:]ADDR[:PORT]`; an IPv6 address with a port stands in
    /// brackets.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (transport, rest) = match text.split_once(':') {
            Some(("tcp", rest)) => (EndpointTransport::Tcp, rest),
            Some(("ssl" | "tls", rest)) => (EndpointTransport::Tls, rest),
            Some(_) | None => (EndpointTransport::Tcp, text),
        };
        let bare = rest.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let alone = || bare.unwrap_or(rest).parse::<IpAddr>().ok();
        let with_port = rest.parse().ok();
        let place = with_port.or_else(|| Some(SocketAddr::new(alone()?, USUAL_PORT)));
        let place = place.ok_or_else(|| ParseAddressError(text.to_owned()))?;
        Ok(Self { transport, place })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            EndpointTransport::Tcp => "tcp",
            EndpointTransport::Tls => "ssl",
        };
        write!(f, "{transport}:{}", self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_was_read() {
        for (text, shown) in [
            ("0.0.0.0:6633", "tcp:0.0.0.0:6633"),
            ("127.0.0.1", "tcp:127.0.0.1:6653"),
            ("tcp:10.0.0.1:0", "tcp:10.0.0.1:0"),
            ("ssl:0.0.0.0", "ssl:0.0.0.0:6653"),
            ("tls:10.0.0.1:6654", "ssl:10.0.0.1:6654"),
            ("::1", "tcp:[::1]:6653"),
            ("ssl:[::]", "ssl:[::]:6653"),
            ("ssl:[::1]:6640", "ssl:[::1]:6640"),
        ] {
            let address: Address = text.parse().unwrap();

            assert_eq!(address.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_address_of_a_machine_is_refused() {
        for text in [
            "",
            "ssl:",
            "controller:6653",
            "10.0.0.1:70000",
            "udp:10.0.0.1",
            "[::1",
        ] {
            let refused = text.parse::<Address>().unwrap_err();

            assert!(refused.to_string().contains(text), "{text}: {refused}");
        }
    }
}
