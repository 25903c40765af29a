//! The network and its flows for the INET framework of OMNeT++: a network in NED and an
//! `omnetpp.ini`.
//!
//! Switches are `TsnSwitch`, hosts `TsnDevice`. A frame's priority is that of its queue, and
//! ports serve eight queues in strict priority. Each flow is a source of UDP datagrams whose
//! frames are as long as the largest of the flow and come as often as its rate allows; its
//! receivers record delays, which the deadline and the guarantee stand beside as comments.
//! INET learns no ways: tables of switches hold those of the network.
//!
//! # Left out
//!
//! Groups: a flow to several receivers is sent to each of them, which loads links that the
//! copies share more than the network does. The time of a switch's processor. Bursts.
//! Failures. Best effort.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use units::{DataSize, Delay};

use super::{ConfiguredFlow, ConfiguredNetwork, Unbounded};
use crate::{End, HostIndex, Node, SwitchIndex};

/// The first port of a flow.
const FIRST_PORT: usize = 1_024;
/// Preamble, delimiter and gap 20, check sequence 4, Ethernet 14, tag 4, IPv4 20, UDP 8.
const AROUND_PAYLOAD: DataSize = DataSize::from_bytes(70);

/// A flow to one of its receivers.
struct Datagrams<'n> {
    flow: &'n ConfiguredFlow,
    receiver: HostIndex,
    port: usize,
}

impl ConfiguredNetwork {
    /// Writes the network in NED, and flows, queues and ways as an `omnetpp.ini`.
    ///
    /// # Errors
    ///
    /// If it is not known how fast a link is.
    pub fn to_inet(&self) -> Result<(String, String), Unbounded> {
        self.check_rates()?;
        Ok((self.to_ned(), self.to_ini()))
    }

    fn to_ned(&self) -> String {
        let mut text = "import inet.networks.base.TsnNetworkBase;\n\
                        import inet.node.ethernet.EthernetLink;\n\
                        import inet.node.tsn.TsnDevice;\n\
                        import inet.node.tsn.TsnSwitch;\n\n"
            .to_owned();
        text += &format!(
            "network {} extends TsnNetworkBase\n{{\n",
            identifier(&self.name)
        );
        text += "    submodules:\n";
        for (at, _) in self.switches.iter().enumerate() {
            text += &self.ned_node(Node::Switch(SwitchIndex(at)), "TsnSwitch");
        }
        for (at, _) in self.hosts.iter().enumerate() {
            text += &self.ned_node(Node::Host(HostIndex(at)), "TsnDevice");
        }
        text += "    connections:\n";
        for link in &self.links {
            let [one, other] = link.ends.map(|end| self.gate(end));
            let mut channel = Vec::new();
            if let Some(rate) = link.rate {
                channel.push(format!("datarate = {}bps;", rate.as_bps()));
            }
            channel.push(format!("delay = {}ps;", link.propagation.as_ps()));
            let channel = channel.join(" ");
            text += &format!("        {one} <--> EthernetLink {{ {channel} }} <--> {other};\n");
        }
        text + "}\n"
    }

    fn to_ini(&self) -> String {
        let mut text = format!(
            "# Flows, queues and ways of {}, for INET 4.5 and what follows it.\n\
             [General]\nnetwork = {}\nsim-time-limit = 1s\n\n\
             *.macForwardingTableConfigurator.typename = \"\"\n\
             **.arp.typename = \"GlobalArp\"\n\
             *.*.hasOutgoingStreams = true\n\
             *.*.hasEgressTrafficShaping = true\n\
             **.macLayer.queue.numTrafficClasses = 8\n\
             **.transmissionSelectionAlgorithm[*].typename = \"\"\n",
            plain(&self.name),
            identifier(&self.name)
        );
        let datagrams = self.datagrams();
        self.write_applications(&datagrams, &mut text);
        self.write_streams(&datagrams, &mut text);
        self.write_ways(&datagrams, &mut text);
        text
    }

    fn datagrams(&self) -> Vec<Datagrams<'_>> {
        let promised = self.flows.iter().filter(|flow| flow.deadline.is_some());
        let each = promised.flat_map(|flow| flow.receivers.iter().map(move |to| (flow, *to)));
        let numbered = each.zip(FIRST_PORT..);
        let datagrams = numbered.map(|((flow, receiver), port)| Datagrams {
            flow,
            receiver,
            port,
        });
        datagrams.collect()
    }

    fn write_applications(&self, datagrams: &[Datagrams<'_>], text: &mut String) {
        let mut applications = BTreeMap::<HostIndex, Vec<String>>::new();
        for Datagrams {
            flow,
            receiver,
            port,
        } in datagrams
        {
            let payload = flow.traffic.largest_frame.saturating_sub(AROUND_PAYLOAD);
            let payload = payload.max(DataSize::from_bytes(1)).bytes_up();
            let interval = flow.traffic.rate.time_to_send(flow.traffic.largest_frame);
            let name = plain(&flow.name);
            let source = format!(
                ".typename = \"UdpSourceApp\"\n.display-name = \"{name}\"\n\
                 .io.destAddress = \"{}\"\n.io.destPort = {port}\n\
                 .source.packetLength = {payload}B\n.source.productionInterval = {}ps\n",
                identifier(&self.hosts[receiver.0]),
                interval.as_ps(),
            );
            let or_none = |delay: Option<Delay>| {
                delay.map_or_else(|| "none".to_owned(), |delay| delay.to_string())
            };
            let sink = format!(
                ".typename = \"UdpSinkApp\"  # {name}: within {}, asked for {}\n\
                 .display-name = \"{name}\"\n.io.localPort = {port}\n",
                or_none(flow.guarantee),
                or_none(flow.deadline)
            );
            applications.entry(flow.source).or_default().push(source);
            applications.entry(*receiver).or_default().push(sink);
        }
        for (host, applications) in applications {
            let host = identifier(&self.hosts[host.0]);
            let _ = write!(text, "\n*.{host}.numApps = {}\n", applications.len());
            for (at, lines) in applications.iter().enumerate() {
                for line in lines.lines() {
                    let _ = writeln!(text, "*.{host}.app[{at}]{line}");
                }
            }
        }
    }

    fn write_streams(&self, datagrams: &[Datagrams<'_>], text: &mut String) {
        let mut streams = BTreeMap::<HostIndex, [Vec<String>; 2]>::new();
        for Datagrams { flow, port, .. } in datagrams {
            let [identified, encoded] = streams.entry(flow.source).or_default();
            let filter = format!("expr(udp.destPort == {port})");
            identified.push(format!("{{stream: \"s{port}\", packetFilter: {filter}}}"));
            encoded.push(format!("{{stream: \"s{port}\", pcp: {}}}", flow.queue));
        }
        text.push('\n');
        for (host, [identified, encoded]) in streams {
            let host = identifier(&self.hosts[host.0]);
            let of_host = format!("*.{host}.bridging");
            let (identified, encoded) = (identified.join(", "), encoded.join(", "));
            let _ = writeln!(
                text,
                "{of_host}.streamIdentifier.identifier.mapping = [{identified}]\n\
                 {of_host}.streamCoder.encoder.mapping = [{encoded}]"
            );
        }
    }

    /// Writes where each switch sends frames to a host. INET knows one way to it from a
    /// switch: where flows take several, those after the first are named.
    fn write_ways(&self, datagrams: &[Datagrams<'_>], text: &mut String) {
        let mut tables = BTreeMap::<SwitchIndex, BTreeMap<HostIndex, u32>>::new();
        let mut elsewhere = BTreeSet::new();
        for Datagrams { flow, receiver, .. } in datagrams {
            let crossings = self.crossings(flow.source, &flow.way);
            for crossing in Self::branch(&crossings, *receiver) {
                if let Node::Switch(switch) = crossing.from.node {
                    let port = crossing.from.port;
                    let known = tables.entry(switch).or_default().entry(*receiver);
                    if *known.or_insert(port) != port {
                        elsewhere.insert(flow.name.as_str());
                    }
                }
            }
        }
        text.push('\n');
        for (switch, table) in tables {
            let entries = table.iter().map(|(host, port)| {
                let host = identifier(&self.hosts[host.0]);
                format!("{{address: \"{host}\", interface: \"eth{}\"}}", port - 1)
            });
            let entries = entries.collect::<Vec<_>>().join(", ");
            let switch = identifier(&self.switches[switch.0].name);
            let _ = writeln!(text, "*.{switch}.macTable.forwardingTable = [{entries}]");
        }
        for name in elsewhere {
            let name = plain(name);
            let _ = writeln!(
                text,
                "# {name} takes another way than others to the same host do"
            );
        }
    }

    fn ned_node(&self, node: Node, kind: &str) -> String {
        let name = identifier(self.name_of(node));
        let ends = self.links.iter().flat_map(|link| link.ends);
        let ports = ends.filter(|end| end.node == node).map(|end| end.port);
        let ports = ports.max().unwrap_or(0);
        format!("        {name}: {kind} {{ gates: ethg[{ports}]; }}\n")
    }

    fn gate(&self, end: End) -> String {
        let name = identifier(self.name_of(end.node));
        format!("{name}.ethg[{}]", end.port.saturating_sub(1))
    }
}

/// Returns a name as NED takes it. Names that become the same are told apart by what was
/// left out of them.
fn identifier(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => text.push(c),
            '_' => text += "__",
            c => {
                let _ = write!(text, "_{:x}_", u32::from(c));
            }
        }
    }
    match text.starts_with(|c: char| c.is_ascii_digit()) || text.is_empty() {
        true => format!("n_{text}"),
        false => text,
    }
}

/// Keeps a name from ending a line or a string.
fn plain(name: &str) -> String {
    let good = |c: &char| !c.is_control() && !matches!(c, '"' | '\\');
    name.chars().filter(good).collect()
}
