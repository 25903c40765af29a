//! Where control blocks publish to: `SubNetwork`, `ConnectedAP`, `GSE`, `SMV`.

use std::collections::{BTreeMap, BTreeSet};

use units::{Delay, Duration};

use super::publishers::{BlockKey, PublishingService};
use super::{Element, attribute, child, children, text_of};
use crate::mistake::quote;
use crate::shape::{LONGEST_TIME, parse_mac};

/// All that stands under `Communication`.
#[derive(Default)]
pub(super) struct Communication<'d> {
    /// The names of the sub-networks, in the order of the file.
    pub(super) sub_networks: Vec<&'d str>,
    /// The addresses of each control block, in the order of the file.
    pub(super) addresses: BTreeMap<BlockKey<'d>, Vec<Address<'d>>>,
    /// The sub-networks that each IED is connected to.
    pub(super) connected: BTreeMap<&'d str, BTreeSet<&'d str>>,
    /// The access points with a second connection.
    pub(super) redundant: Vec<Element<'d>>,
}

/// A `GSE` or `SMV`.
#[derive(Clone, Copy)]
pub(super) struct Address<'d> {
    pub(super) sub_network: &'d str,
    pub(super) element: Element<'d>,
}

impl<'d> Communication<'d> {
    pub(super) fn read(communication: Element<'d>) -> Self {
        let mut all = Self::default();
        for network in children(communication, "SubNetwork") {
            let name = attribute(network, "name");
            all.sub_networks.push(name);
            for access_point in children(network, "ConnectedAP") {
                all.read_access_point(access_point, name);
            }
        }
        all
    }

    fn read_access_point(&mut self, access_point: Element<'d>, sub_network: &'d str) {
        let ied = attribute(access_point, "iedName");
        self.connected.entry(ied).or_default().insert(sub_network);
        let mut connections = children(access_point, "PhysConn");
        if connections.any(|connection| attribute(connection, "type") == "RedConn") {
            self.redundant.push(access_point);
        }
        for service in [PublishingService::Goose, PublishingService::SampledValues] {
            for element in children(access_point, service.address_element()) {
                let key = BlockKey {
                    ied,
                    device: attribute(element, "ldInst"),
                    service,
                    block: attribute(element, "cbName"),
                };
                let address = Address {
                    sub_network,
                    element,
                };
                self.addresses.entry(key).or_default().push(address);
            }
        }
    }
}

impl<'d> Address<'d> {
    /// Returns the group that the control block publishes to.
    ///
    /// # Errors
    ///
    /// What is wrong, and what would be right.
    pub(super) fn mac(&self) -> Result<[u8; 6], (String, String)> {
        let help = "such as <P type=\"MAC-Address\">01-0C-CD-01-00-01</P>".to_owned();
        match self.parameter("MAC-Address") {
            None => Err(("its address has no MAC-Address".to_owned(), help)),
            Some(text) => parse_mac(text)
                .ok_or_else(|| (format!("`{}` is no hardware address", quote(text)), help)),
        }
    }

    /// Returns the VLAN, which SCL writes in hexadecimal digits; 0 if there is
    /// none.
    pub(super) fn vlan(&self) -> Result<u16, (String, String)> {
        let Some(text) = self.parameter("VLAN-ID") else {
            return Ok(0);
        };
        match u16::from_str_radix(text, 16) {
            Ok(vlan @ 0..=0xFFE) => Ok(vlan),
            Ok(_) | Err(_) => Err((
                format!("`{}` is no VLAN-ID", quote(text)),
                "three hexadecimal digits, 000 to FFE".to_owned(),
            )),
        }
    }

    /// Returns the priority; 4 is the default of IEC 61850-8-1 and 9-2.
    pub(super) fn priority(&self) -> Result<u8, (String, String)> {
        let Some(text) = self.parameter("VLAN-PRIORITY") else {
            return Ok(4);
        };
        match text.parse() {
            Ok(priority @ 0..=7) => Ok(priority),
            Ok(_) | Err(_) => Err((
                format!("`{}` is no VLAN-PRIORITY", quote(text)),
                "one digit, 0 to 7".to_owned(),
            )),
        }
    }

    /// Returns `MinTime` or `MaxTime`, rounded down to nanoseconds; nothing if it
    /// is not there or zero.
    pub(super) fn time(&self, name: &'static str) -> Result<Option<Duration>, (String, String)> {
        let Some(element) = child(self.element, name) else {
            return Ok(None);
        };
        let unit = match attribute(element, "multiplier") {
            "" => "s",
            "m" => "ms",
            "u" | "µ" | "μ" => "us",
            "n" => "ns",
            other => {
                let reason = format!("multiplier `{}` of {name}", quote(other));
                return Err((reason, "a time is given in s with m, µ or none".to_owned()));
            }
        };
        let text = text_of(element);
        let wrong = || {
            let help = format!("such as <{name} unit=\"s\" multiplier=\"m\">10</{name}>");
            (format!("`{}` is no {name}", quote(text)), help)
        };
        let time: Delay = format!("{text} {unit}").parse().map_err(|_| wrong())?;
        if time > Delay::from(LONGEST_TIME) {
            return Err(wrong());
        }
        let time = Duration::from_ns(time.as_ps() / 1_000);
        Ok(Some(time).filter(|time| *time > Duration::ZERO))
    }

    fn parameter(&self, name: &str) -> Option<&'d str> {
        let address = child(self.element, "Address")?;
        let found = children(address, "P").find(|p| attribute(*p, "type") == name)?;
        Some(text_of(found)).filter(|text| !text.is_empty())
    }
}
