//! Networks as text, in our own format and in that of Saihu, to the last digit.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use units::fine::{Data, Rate, Time};

use super::{Multiplexing, ServedFlow, Server, ServerNetwork, exact_decimal};

/// Decimal places of our units: millionths of a bit, femtoseconds.
const MILLIONTHS: u8 = 6;
const FEMTO: u8 = 15;

/// Why a network cannot be said in another format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExpressible {
    /// A server serves in an order that the other format does not know.
    #[error("Saihu knows no order of service `{order}`, which server `{server}` has")]
    Multiplexing { server: String, order: &'static str },
    /// Servers differ in what the other format says once for all.
    #[error(
        "Saihu has one order of service for all servers, and server `{server}` has another than the first"
    )]
    Mixed {
        /// The first server that differs.
        server: String,
    },
}

impl ServerNetwork {
    /// Writes the network in our own format.
    #[must_use]
    pub fn to_json(&self) -> String {
        let network = OwnNetwork {
            id: self.id.as_deref(),
            method: self.method.as_deref(),
            packetizer: self.packetizer,
            line_shaping: self.line_shaping,
            servers: self.servers.iter().map(own_server).collect(),
            flows: self.flows.iter().map(|flow| self.own_flow(flow)).collect(),
        };
        pretty(&network)
    }

    /// Writes the network as Saihu reads it, in seconds, bits and bits per second.
    ///
    /// # Errors
    ///
    /// If Saihu cannot express the order of service. Priorities mean nothing in
    /// the orders that it knows, so they are left out.
    pub fn to_saihu(&self) -> Result<String, NotExpressible> {
        self.to_saihu_with(&BTreeMap::new())
    }

    /// Writes the network as [`to_saihu`](Self::to_saihu) does, with a comment for each flow
    /// of which there is one, by the flow's name.
    ///
    /// # Errors
    ///
    /// As [`to_saihu`](Self::to_saihu).
    pub fn to_saihu_with(
        &self,
        comments: &BTreeMap<String, String>,
    ) -> Result<String, NotExpressible> {
        let options: &[&str] = match self.line_shaping {
            true => &["IS"],
            false => &[],
        };
        let network = SaihuNetwork {
            network: SaihuGeneral {
                name: self.id.as_deref().unwrap_or("network"),
                packetizer: self.packetizer,
                multiplexing: self.saihu_multiplexing()?,
                analysis_option: options,
                time_unit: "s",
                data_unit: "b",
                rate_unit: "bps",
            },
            flows: self.saihu_flows(comments),
            servers: self.servers.iter().map(saihu_server).collect(),
        };
        Ok(pretty(&network))
    }

    fn own_flow<'a>(&'a self, flow: &'a ServedFlow) -> OwnFlow<'a> {
        let bucket = |(rate, burst): &(Rate, Data)| OwnBucket {
            rate_bps: bps(*rate),
            burst_bit: bit(*burst),
        };
        OwnFlow {
            id: &flow.id,
            buckets: flow.buckets.iter().map(bucket).collect(),
            path: self.path(flow),
            max_packet_bit: bit(flow.max_packet),
            priority: flow.priority,
            branch_of: flow.branch_of.map(|trunk| self.flows[trunk].id.as_str()),
        }
    }

    /// Returns the flows, each with its branches, whose names end in those of their
    /// paths.
    fn saihu_flows<'a>(&'a self, comments: &'a BTreeMap<String, String>) -> Vec<SaihuFlow<'a>> {
        let mut flows = Vec::new();
        for all in self.flows.chunk_by(|_, next| next.branch_of.is_some()) {
            let [trunk, branches @ ..] = all else {
                continue;
            };
            let mut flow = self.saihu_flow(trunk);
            if let (Some((id, path)), [_, ..]) = (trunk.id.rsplit_once('/'), branches) {
                (flow.name, flow.path_name) = (id, Some(path));
            }
            flow.comment = comments.get(flow.name).map(String::as_str);
            let path_name = |branch: &'_ ServedFlow| {
                let rest = branch.id.strip_prefix(flow.name);
                let rest = rest.and_then(|rest| rest.strip_prefix('/'));
                rest.unwrap_or(&branch.id).to_owned()
            };
            flow.multicast = branches
                .iter()
                .map(|branch| SaihuBranch {
                    name: path_name(branch),
                    path: self.path(branch),
                })
                .collect();
            flows.push(flow);
        }
        flows
    }

    fn saihu_flow<'a>(&'a self, flow: &'a ServedFlow) -> SaihuFlow<'a> {
        let (rates, bursts) = flow
            .buckets
            .iter()
            .map(|(rate, burst)| (bps(*rate), bit(*burst)))
            .unzip();
        SaihuFlow {
            name: &flow.id,
            comment: None,
            path_name: None,
            path: self.path(flow),
            arrival_curve: SaihuArrival { bursts, rates },
            max_packet_length: bit(flow.max_packet),
            multicast: Vec::new(),
        }
    }

    fn path(&self, flow: &ServedFlow) -> Vec<&str> {
        let servers = flow.path.iter();
        servers.map(|at| self.servers[*at].id.as_str()).collect()
    }

    fn saihu_multiplexing(&self) -> Result<&'static str, NotExpressible> {
        let order = |server: &Server| server.multiplexing.unwrap_or(Multiplexing::Fifo);
        let first = self.servers.first().map_or(Multiplexing::Fifo, order);
        if let Some(other) = self.servers.iter().find(|server| order(server) != first) {
            let server = other.id.clone();
            return Err(NotExpressible::Mixed { server });
        }
        match first {
            Multiplexing::Fifo => Ok("FIFO"),
            Multiplexing::Arbitrary => Ok("ARBITRARY"),
            Multiplexing::StrictPriority => Err(NotExpressible::Multiplexing {
                server: self.servers[0].id.clone(),
                order: first.word(),
            }),
        }
    }
}

fn own_server(server: &Server) -> OwnServer<'_> {
    let curve = |(rate, latency): &(Rate, Time)| OwnCurve {
        rate_bps: bps(*rate),
        latency_s: second(*latency),
    };
    OwnServer {
        id: &server.id,
        service: server.service.iter().map(curve).collect(),
        link_bps: server.link.map(bps),
        multiplexing: server.multiplexing.map(Multiplexing::word),
    }
}

fn saihu_server(server: &Server) -> SaihuServer<'_> {
    let curves = server.service.iter();
    let (rates, latencies) = curves
        .map(|(rate, latency)| (bps(*rate), second(*latency)))
        .unzip();
    SaihuServer {
        name: &server.id,
        service_curve: SaihuService { latencies, rates },
        capacity: server.link.map(bps),
    }
}

fn bps(rate: Rate) -> Box<RawValue> {
    number(exact_decimal(rate.as_ubps(), MILLIONTHS))
}

fn bit(data: Data) -> Box<RawValue> {
    number(exact_decimal(data.as_ubits(), MILLIONTHS))
}

fn second(time: Time) -> Box<RawValue> {
    number(exact_decimal(time.as_fs(), FEMTO))
}

fn number(text: String) -> Box<RawValue> {
    RawValue::from_string(text).expect("a decimal number is JSON")
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("texts and numbers are JSON");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct OwnNetwork<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    packetizer: bool,
    line_shaping: bool,
    servers: Vec<OwnServer<'a>>,
    flows: Vec<OwnFlow<'a>>,
}

#[derive(Serialize)]
struct OwnServer<'a> {
    id: &'a str,
    service: Vec<OwnCurve>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link_bps: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multiplexing: Option<&'static str>,
}

#[derive(Serialize)]
struct OwnCurve {
    rate_bps: Box<RawValue>,
    latency_s: Box<RawValue>,
}

#[derive(Serialize)]
struct OwnFlow<'a> {
    id: &'a str,
    buckets: Vec<OwnBucket>,
    path: Vec<&'a str>,
    max_packet_bit: Box<RawValue>,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_of: Option<&'a str>,
}

#[derive(Serialize)]
struct OwnBucket {
    rate_bps: Box<RawValue>,
    burst_bit: Box<RawValue>,
}

#[derive(Serialize)]
struct SaihuNetwork<'a> {
    network: SaihuGeneral<'a>,
    flows: Vec<SaihuFlow<'a>>,
    servers: Vec<SaihuServer<'a>>,
}

#[derive(Serialize)]
struct SaihuGeneral<'a> {
    name: &'a str,
    packetizer: bool,
    multiplexing: &'static str,
    analysis_option: &'a [&'a str],
    time_unit: &'static str,
    data_unit: &'static str,
    rate_unit: &'static str,
}

#[derive(Serialize)]
struct SaihuFlow<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_name: Option<&'a str>,
    path: Vec<&'a str>,
    arrival_curve: SaihuArrival,
    max_packet_length: Box<RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    multicast: Vec<SaihuBranch<'a>>,
}

#[derive(Serialize)]
struct SaihuBranch<'a> {
    name: String,
    path: Vec<&'a str>,
}

#[derive(Serialize)]
struct SaihuArrival {
    bursts: Vec<Box<RawValue>>,
    rates: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
struct SaihuServer<'a> {
    name: &'a str,
    service_curve: SaihuService,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct SaihuService {
    latencies: Vec<Box<RawValue>>,
    rates: Vec<Box<RawValue>>,
}
