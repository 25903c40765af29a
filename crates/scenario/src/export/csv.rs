//! The flows as a table, comma-separated values (RFC 4180).

use units::Delay;

use super::{ConfiguredFlow, ConfiguredNetwork, mac};

const HEADER: &str = "flow,source,receivers,ether_type,destination,vlan,priority,rate_bps,\
burst_bytes,largest_frame_bytes,deadline_ns,guarantee_ns,slack_ns,protection,way,alternatives";

impl ConfiguredNetwork {
    /// Writes the flows with what was asked for, what is promised, and the way.
    #[must_use]
    pub fn flows_csv(&self) -> String {
        let rows = self.flows.iter().map(|flow| row(&self.flow_fields(flow)));
        let rows: Vec<_> = rows.collect();
        format!("{HEADER}\r\n{}", rows.concat())
    }

    fn flow_fields(&self, flow: &ConfiguredFlow) -> [String; 16] {
        let ns = |delay: Option<Delay>| {
            let ns = delay.map(|delay| delay.round_up().as_ns().to_string());
            ns.unwrap_or_default()
        };
        let receivers = flow.receivers.iter();
        let receivers = receivers.map(|host| self.hosts[host.0].as_str());
        let alternatives = flow.alternatives.iter();
        let alternatives = alternatives.map(|way| self.switches_of(flow, way));
        let slack = flow.deadline.zip(flow.guarantee);
        let number = |it: Option<u16>| it.map(|it| it.to_string()).unwrap_or_default();
        [
            flow.name.clone(),
            self.hosts[flow.source.0].clone(),
            receivers.collect::<Vec<_>>().join(" "),
            flow.matching
                .ether_type
                .map(|it| format!("0x{it:04X}"))
                .unwrap_or_default(),
            flow.matching.destination.map(mac).unwrap_or_default(),
            number(flow.matching.vlan),
            flow.queue.to_string(),
            flow.traffic.rate.as_bps().to_string(),
            flow.traffic.burst.bytes_up().to_string(),
            flow.traffic.largest_frame.bytes_up().to_string(),
            ns(flow.deadline),
            ns(flow.guarantee),
            ns(slack.map(|(deadline, guarantee)| deadline.saturating_sub(guarantee))),
            flow.protection.to_owned(),
            self.switches_of(flow, &flow.way),
            alternatives.collect::<Vec<_>>().join("; "),
        ]
    }
}

/// Returns a line of a table.
pub(super) fn row(fields: &[String]) -> String {
    let fields: Vec<_> = fields.iter().map(|field| quoted(field)).collect();
    fields.join(",") + "\r\n"
}

/// Quotes what a reader would take for the end of a field, and what a spreadsheet would
/// take for a formula.
fn quoted(field: &str) -> String {
    let is_number = field.parse::<i128>().is_ok();
    let is_formula = !is_number && field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let field = match is_formula {
        true => format!("'{field}"),
        false => field.to_owned(),
    };
    match field.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}
