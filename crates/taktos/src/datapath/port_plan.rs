//! Which interfaces are ports, under which numbers and at which rates.

use std::str::FromStr;

use switch::PORTS_MAX;
use thiserror::Error;
use units::BitRate;
use wire::openflow::PortNumber;

/// What the user says of one port: its interface, and perhaps its number, as in
/// `eth1` or `7=eth1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortName {
    /// Its number, if the user chose one.
    pub number: Option<u32>,
    /// The name of its interface.
    pub interface: String,
}

impl FromStr for PortName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, interface) = match text.split_once('=') {
            Some((number, interface)) => {
                let chosen = number.parse().ok();
                let chosen = chosen.filter(|number| (1..=PortNumber::MAX.0).contains(number));
                let chosen = chosen.ok_or_else(|| format!("`{number}` is no number of a port"))?;
                (Some(chosen), interface)
            }
            None => (None, text),
        };
        if interface.is_empty() {
            return Err("names no interface".to_owned());
        }
        Ok(Self {
            number,
            interface: interface.to_owned(),
        })
    }
}

/// How fast a port sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortPace {
    /// At the rate of its link, if there is a cable; else as fast as it can.
    OfTheLink,
    /// As fast as its interface takes frames.
    Unlimited,
    At(BitRate),
}

/// What the user says of rates: one for all ports, or one for the port on an
/// interface, as in `100M`, `eth1=100M` or `eth1=none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateChoice {
    /// The port; all, if none is named.
    pub interface: Option<String>,
    pub pace: PortPace,
}

impl FromStr for RateChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (interface, rate) = match text.split_once('=') {
            Some((interface, rate)) => (Some(interface.to_owned()), rate),
            None => (None, text),
        };
        Ok(Self {
            interface,
            pace: match rate {
                "none" => PortPace::Unlimited,
                rate => PortPace::At(parse_rate(rate)?),
            },
        })
    }
}

/// Reads `100M` as others write it, or `100 Mbit/s`.
fn parse_rate(text: &str) -> Result<BitRate, String> {
    let spelt_out = match text.strip_suffix(['k', 'K', 'M', 'G']) {
        Some(number) => format!("{number} {}bit/s", text[number.len()..].replace('K', "k")),
        None => text.to_owned(),
    };
    spelt_out
        .parse()
        .map_err(|error| format!("`{text}` is no rate ({error}), as in `100M`"))
}

/// One port to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    pub number: PortNumber,
    /// The name of its interface.
    pub interface: String,
    pub pace: PortPace,
}

/// Why ports make no sense together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PortPlanError {
    /// Two ports have the same number.
    #[error("both `{first}` and `{second}` are to be port {number}")]
    NumberTwice {
        number: u32,
        first: String,
        second: String,
    },
    /// An interface is two ports.
    #[error("`{0}` is named twice")]
    InterfaceTwice(String),
    /// More ports than a switch has.
    #[error("{0} ports are more than the {PORTS_MAX} that a switch has")]
    TooMany(usize),
    /// A rate for what is no port.
    #[error("a rate for `{0}`, which is none of the ports")]
    RateWithoutPort(String),
}

/// Numbers the ports and gives each its rate. Who has no number of its own has its
/// place in the list for one, counted from 1. The interface `local` leads to the
/// switch's own host.
///
/// # Errors
///
/// If numbers or interfaces collide, or a rate belongs to no port.
pub fn plan(
    names: &[PortName],
    local: Option<&str>,
    rates: &[RateChoice],
) -> Result<Vec<PortPlan>, PortPlanError> {
    if names.len() > PORTS_MAX {
        return Err(PortPlanError::TooMany(names.len()));
    }
    let mut ports: Vec<PortPlan> = Vec::new();
    for (place, name) in (1..).zip(names) {
        let number = PortNumber(name.number.unwrap_or(place));
        add(&mut ports, number, &name.interface)?;
    }
    if let Some(local) = local {
        add(&mut ports, PortNumber::LOCAL, local)?;
    }
    for choice in rates {
        set_rate(&mut ports, choice)?;
    }
    Ok(ports)
}

fn add(
    ports: &mut Vec<PortPlan>,
    number: PortNumber,
    interface: &str,
) -> Result<(), PortPlanError> {
    if ports.iter().any(|port| port.interface == interface) {
        return Err(PortPlanError::InterfaceTwice(interface.to_owned()));
    }
    if let Some(first) = ports.iter().find(|port| port.number == number) {
        return Err(PortPlanError::NumberTwice {
            number: number.0,
            first: first.interface.clone(),
            second: interface.to_owned(),
        });
    }
    ports.push(PortPlan {
        number,
        interface: interface.to_owned(),
        pace: PortPace::OfTheLink,
    });
    Ok(())
}

/// Later choices replace earlier ones.
fn set_rate(ports: &mut [PortPlan], choice: &RateChoice) -> Result<(), PortPlanError> {
    let Some(interface) = &choice.interface else {
        for port in ports {
            port.pace = choice.pace;
        }
        return Ok(());
    };
    match ports.iter_mut().find(|port| port.interface == *interface) {
        Some(port) => {
            port.pace = choice.pace;
            Ok(())
        }
        None => Err(PortPlanError::RateWithoutPort(interface.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<PortName> {
        list.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn ports_are_numbered_in_their_order_unless_the_user_says_otherwise() {
        let ports = plan(&names(&["eth1", "9=eth2", "eth3"]), Some("host"), &[]).unwrap();

        let numbers = ports.iter().map(|port| port.number.0);
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 9, 3, PortNumber::LOCAL.0]);
    }

    #[test]
    fn a_rate_is_for_one_port_or_for_all() {
        let rates = ["1G", "b=100M", "c=2500 kbit/s", "d=none"].map(|rate| rate.parse().unwrap());

        let ports = plan(&names(&["a", "b", "c", "d"]), None, &rates).unwrap();

        let at = |bps| PortPace::At(BitRate::new(bps).unwrap());
        assert_eq!(
            ports.iter().map(|port| port.pace).collect::<Vec<_>>(),
            [
                at(1_000_000_000),
                at(100_000_000),
                at(2_500_000),
                PortPace::Unlimited
            ]
        );
    }

    #[test]
    fn what_collides_is_refused() {
        for (ports, reason) in [
            (&["2=a", "b"][..], "both `a` and `b` are to be port 2"),
            (&["a", "b", "a"], "`a` is named twice"),
        ] {
            assert_eq!(
                plan(&names(ports), None, &[]).unwrap_err().to_string(),
                reason
            );
        }
        let rate = ["c=1M".parse().unwrap()];
        let refused = plan(&names(&["a"]), None, &rate).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a rate for `c`, which is none of the ports"
        );
    }

    #[test]
    fn what_is_no_port_or_rate_is_refused() {
        for text in ["0=a", "x=a", "4294967041=a", "1=", ""] {
            assert!(text.parse::<PortName>().is_err(), "{text}");
        }
        for text in ["0", "fast", "100", "-1M", "eth1=", "1T"] {
            assert!(text.parse::<RateChoice>().is_err(), "{text}");
        }
    }
}
