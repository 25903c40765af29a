//! What other hosts send to the receiver meanwhile (S3-3).
//!
//! The paper has two further hosts send 250 or 375 Mbit/s each. Here the load comes
//! from the ports behind the first two, in equal parts; a tester with two ports sends
//! it from the first one, where it is in the way on the same cable.

use std::fmt;
use std::str::FromStr;

use units::{BitRate, Duration};
use wire::ethernet::wire_size;

use super::{Cadence, FROM, MethodError, Path, SendingPace, TO};
use crate::traffic::Addresses;
use crate::trial::{PortIndex, Setup, Stream};

/// The port of UDP that takes whatever comes (RFC 863).
pub const DISCARD_PORT: u16 = 9;
/// So many further hosts at most send it.
const MOST_HOSTS: usize = 2;
/// The length of its frames, without check sequence, in bytes.
const FRAME_LENGTH: usize = 1_514;
/// What is later than this is left out.
const PATIENCE: Duration = Duration::from_ms(1);

/// How much load there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadLevel {
    None,
    /// So much in total, on the wire.
    Rate(BitRate),
    /// A percentage of the rate of the link.
    Percent(u8),
}

/// A text is no load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLoad;

impl FromStr for LoadLevel {
    type Err = NoLoad;

    fn from_str(text: &str) -> Result<Self, NoLoad> {
        if let "0" | "none" = text {
            return Ok(Self::None);
        }
        if let Some(percent) = text.strip_suffix('%') {
            return match percent.trim().parse() {
                Ok(0) => Ok(Self::None),
                Ok(percent @ 1..=100) => Ok(Self::Percent(percent)),
                Ok(_) | Err(_) => Err(NoLoad),
            };
        }
        text.parse().map(Self::Rate).map_err(|_| NoLoad)
    }
}

impl fmt::Display for LoadLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Rate(rate) => rate.fmt(f),
            Self::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

impl LoadLevel {
    /// Returns what makes this load with a tester.
    ///
    /// # Errors
    ///
    /// If it is a share of a rate that is not known.
    pub fn streams(&self, setup: &Setup, length: Duration) -> Result<Vec<Stream>, MethodError> {
        let total = match (*self, setup.rate) {
            (Self::None, _) => return Ok(Vec::new()),
            (Self::Rate(rate), _) => rate.as_bps(),
            (Self::Percent(percent), Some(rate)) => rate.as_bps() / 100 * u64::from(percent),
            (Self::Percent(_), None) => {
                return Err(MethodError::Unsuitable(
                    "a share of the rate was wanted as load, and the links have no rate: state \
                     the load in Mbit/s"
                        .to_owned(),
                ));
            }
        };
        let further: Vec<_> = (2..setup.ports.len())
            .map(PortIndex)
            .take(MOST_HOSTS)
            .collect();
        let hosts = match further.is_empty() {
            true => vec![FROM],
            false => further,
        };
        let each = BitRate::from_bps((total / hosts.len() as u64).max(1));
        let streams = hosts.into_iter().map(|from| {
            let load = Background {
                from,
                addresses: Path::between(from, TO).addresses,
                rate: each,
                frame_length: FRAME_LENGTH,
            };
            load.stream(length)
        });
        Ok(streams.collect())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    pub from: PortIndex,
    /// What is written on it, but for the port of UDP at the receiver.
    pub addresses: Addresses,
    /// How much it is, on the wire.
    pub rate: BitRate,
    /// The length of its frames, without check sequence, in bytes.
    pub frame_length: usize,
}

impl Background {
    /// Returns what sends it for `length`.
    ///
    /// # Panics
    ///
    /// If a frame does not hold its headers, or exceeds the MTU.
    #[must_use]
    pub fn stream(&self, length: Duration) -> Stream {
        let addresses = Addresses {
            destination_port: DISCARD_PORT,
            ..self.addresses
        };
        let pace = SendingPace::at(self.rate, wire_size(self.frame_length));
        let cadence = Cadence::new(&addresses, self.frame_length, pace)
            .frames(pace.frames_in(length))
            .patience(PATIENCE);
        Stream::new(self.from, cadence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_nothing_a_rate_or_a_share() {
        assert_eq!("0".parse(), Ok(LoadLevel::None));
        assert_eq!("0%".parse(), Ok(LoadLevel::None));
        assert_eq!("75 %".parse(), Ok(LoadLevel::Percent(75)));
        let rate = BitRate::from_mbps(500);
        assert_eq!("500Mbit/s".parse(), Ok(LoadLevel::Rate(rate)));
        assert_eq!("101%".parse::<LoadLevel>(), Err(NoLoad));
        assert_eq!("much".parse::<LoadLevel>(), Err(NoLoad));
    }
}
