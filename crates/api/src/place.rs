//! Names of ports and links that survive a restart.
//!
//! The controller's view numbers what it knows by small integers in the order of
//! discovery. What is stored, compared between instances or shown to people must not
//! depend on that order, and names a port by its switch's datapath id instead.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use wire::openflow::{DatapathId, PortNumber};

/// One port of one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct PortId {
    /// The switch.
    pub datapath: DatapathId,
    /// The port of that switch.
    pub port: PortNumber,
}

impl PortId {
    /// Returns the port `port` of the switch `datapath`.
    #[must_use]
    pub const fn new(datapath: DatapathId, port: PortNumber) -> Self {
        Self { datapath, port }
    }
}

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{}", self.datapath.0, self.port.0)
    }
}

/// A text names no port, or no link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected ports, as in `1:2-3:1`")]
pub struct ParsePlaceError;

impl FromStr for PortId {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let (switch, port) = text.split_once(':').ok_or(ParsePlaceError)?;
        let datapath = switch.parse().map_err(|_| ParsePlaceError)?;
        let port = port.parse().map_err(|_| ParsePlaceError)?;
        Ok(Self::new(datapath, PortNumber(port)))
    }
}

/// The two ports that a link joins, the lower first: a link has no direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct LinkEnds {
    lower: PortId,
    higher: PortId,
}

impl LinkEnds {
    /// Returns the link between two ports, in whichever order they are given.
    #[must_use]
    pub fn new(one: PortId, other: PortId) -> Self {
        Self {
            lower: one.min(other),
            higher: one.max(other),
        }
    }

    /// Returns both ends, the lower first.
    #[must_use]
    pub const fn both(self) -> [PortId; 2] {
        [self.lower, self.higher]
    }

    /// Returns the far end as seen from `port`, or `None` if the link does not
    /// end there.
    #[must_use]
    pub fn opposite(self, port: PortId) -> Option<PortId> {
        match port {
            port if port == self.lower => Some(self.higher),
            port if port == self.higher => Some(self.lower),
            _ => None,
        }
    }
}

impl fmt::Display for LinkEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.lower, self.higher)
    }
}

impl FromStr for LinkEnds {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let (one, other) = text.split_once('-').ok_or(ParsePlaceError)?;
        Ok(Self::new(one.parse()?, other.parse()?))
    }
}

/// Writes ports and links as people read them, and as numbers where nobody does.
macro_rules! as_text_or_numbers {
    ($($place:ident: $numbers:ty, |$it:ident| $write:expr, $read:expr;)*) => {$(
        impl Serialize for $place {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $it = self;
                match serializer.is_human_readable() {
                    true => serializer.collect_str(self),
                    false => $write.serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for $place {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                match from.is_human_readable() {
                    true => {
                        let text = Cow::<str>::deserialize(from)?;
                        text.parse().map_err(D::Error::custom)
                    }
                    false => <$numbers>::deserialize(from).map($read),
                }
            }
        }
    )*};
}

as_text_or_numbers! {
    PortId: (DatapathId, PortNumber),
        |it| (it.datapath, it.port), |(datapath, port)| Self::new(datapath, port);
    LinkEnds: [PortId; 2],
        |it| [it.lower, it.higher], |[one, other]| Self::new(one, other);
}

/// A port of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlaceDocument")]
pub struct Place<S = DatapathId> {
    /// The switch's datapath id, 16 digits of hexadecimal.
    #[schemars(with = "String")]
    pub datapath: S,
    /// The switch's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switch: String,
    /// The number of the port.
    #[schemars(with = "u32")]
    pub port: PortNumber,
}

impl Place {
    /// Returns a port of a switch that is called so.
    #[must_use]
    pub const fn new(PortId { datapath, port }: PortId, switch: String) -> Self {
        Self {
            datapath,
            switch,
            port,
        }
    }
}

impl<S: fmt::Display> fmt::Display for Place<S> {
    /// Writes a port by the name of its switch, if that is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.switch.as_str() {
            "" => write!(f, "{}:{}", self.datapath, self.port.0),
            switch => write!(f, "{switch}:{}", self.port.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_comes_back_from_its_id() {
        let ends = LinkEnds::new(
            PortId::new(DatapathId(0xab), PortNumber(7)),
            PortId::new(DatapathId(3), PortNumber(12)),
        );

        assert_eq!(ends.to_string().parse(), Ok(ends));
        for wrong in [
            "",
            "1:2",
            "1:2-",
            "1:2-x:1",
            "1:2-3:-1",
            "1:2-3:99999999999",
        ] {
            assert!(wrong.parse::<LinkEnds>().is_err(), "{wrong}");
        }
    }
}
