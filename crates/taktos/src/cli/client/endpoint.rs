//! Places of the network as people write them: a host by its name, or a port as
//! `SWITCH:PORT`.

use std::str::FromStr;

use api::Place;
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use crate::web::document::EndpointDocument;

/// A place that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenEndpoint(pub EndpointDocument);

impl FromStr for WrittenEndpoint {
    type Err = String;

    /// Reads a place. A name with one colon before a number is a port; `host:` in
    /// front says that it is none.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(name) = text.strip_prefix("host:") {
            return Ok(Self(EndpointDocument::Host(name.to_owned())));
        }
        if text.parse::<MacAddress>().is_ok() {
            return Ok(Self(EndpointDocument::Host(text.to_owned())));
        }
        Ok(Self(match port(text) {
            Some(place) => EndpointDocument::Port(place),
            None => EndpointDocument::Host(text.to_owned()),
        }))
    }
}

/// Reads a port, as in `s1:3`.
///
/// # Errors
///
/// If it is none.
pub fn required_port(text: &str) -> Result<Place<String>, String> {
    port(text).ok_or_else(|| "expected a switch and the number of a port, as in s1:3".to_owned())
}

fn port(text: &str) -> Option<Place<String>> {
    let (switch, port) = text.rsplit_once(':')?;
    if switch.is_empty() || switch.contains(':') {
        return None;
    }
    Some(Place {
        datapath: switch.to_owned(),
        switch: String::new(),
        port: PortNumber(port.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> EndpointDocument {
        EndpointDocument::Host(name.to_owned())
    }

    #[test]
    fn hosts_and_ports_are_told_apart() {
        let read = |text: &str| text.parse::<WrittenEndpoint>().unwrap().0;
        let port = EndpointDocument::Port(Place {
            datapath: "s1".to_owned(),
            switch: String::new(),
            port: PortNumber(3),
        });

        assert_eq!(read("h1"), host("h1"));
        assert_eq!(read("s1:3"), port);
        assert_eq!(read("00:00:00:00:00:01"), host("00:00:00:00:00:01"));
        assert_eq!(read("host:s1:3"), host("s1:3"));
        assert_eq!(read("a:b"), host("a:b"));
        assert_eq!(required_port("s1:3").map(EndpointDocument::Port), Ok(port));
        assert!(required_port("s1").is_err());
    }
}
