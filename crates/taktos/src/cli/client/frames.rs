//! How frames are recognised, as the command line says it.

use std::net::Ipv4Addr;

use api::TransportProtocol;
use clap::ValueEnum;

use crate::web::document::MatchDocument;

/// The fields by which frames are recognised; those that are left out do not
/// matter.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which frames")]
pub struct FrameMatchArgs {
    /// Where they go: the address of a host or a group.
    #[arg(long, value_name = "MAC")]
    to_address: Option<String>,
    /// What they carry, as in 0x88ba for Sampled Values.
    #[arg(long, value_name = "NUMBER", value_parser = ether_type)]
    ether_type: Option<u16>,
    /// The VLAN id of their tag.
    #[arg(long, value_name = "ID")]
    vlan: Option<u16>,
    /// The IPv4 address they come from.
    #[arg(long, value_name = "ADDRESS")]
    from_ipv4: Option<Ipv4Addr>,
    /// The IPv4 address they go to.
    #[arg(long, value_name = "ADDRESS")]
    to_ipv4: Option<Ipv4Addr>,
    /// The transport protocol.
    #[arg(long, value_enum)]
    protocol: Option<ProtocolName>,
    /// The transport port they come from.
    #[arg(long, value_name = "PORT", requires = "protocol")]
    from_port: Option<u16>,
    /// The transport port they go to.
    #[arg(long, value_name = "PORT", requires = "protocol")]
    to_port: Option<u16>,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolName {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

fn ether_type(text: &str) -> Result<u16, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "expected a number of two bytes, as in 0x88ba".to_owned())
}

impl FrameMatchArgs {
    /// Returns what is meant, as a document.
    pub fn document(&self) -> MatchDocument {
        MatchDocument {
            ether_type: self.ether_type,
            destination_mac: self.to_address.clone(),
            vlan: self.vlan,
            ipv4_source: self.from_ipv4,
            ipv4_destination: self.to_ipv4,
            protocol: self.protocol.map(|it| match it {
                ProtocolName::Tcp => TransportProtocol::Tcp,
                ProtocolName::Udp => TransportProtocol::Udp,
            }),
            source_port: self.from_port,
            destination_port: self.to_port,
        }
    }
}
