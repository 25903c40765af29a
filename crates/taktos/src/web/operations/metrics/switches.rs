//! What switches say of their ports and tables.

use controller::northbound::SwitchStatistics;
use wire::openflow::multipart::PortStatistics;

use crate::web::describe::Names;
use crate::web::metrics::{Page, label};

/// A counter of ports: its name, what it counts, and where that is.
type Counter = (&'static str, &'static str, fn(&PortStatistics) -> u64);

const PORT_COUNTERS: [Counter; 8] = [
    (
        "taktos_port_received_packets_total",
        "Frames that a port received.",
        |port| port.received_packets,
    ),
    (
        "taktos_port_sent_packets_total",
        "Frames that a port sent.",
        |port| port.sent_packets,
    ),
    (
        "taktos_port_received_bytes_total",
        "Bytes that a port received.",
        |port| port.received_bytes,
    ),
    (
        "taktos_port_sent_bytes_total",
        "Bytes that a port sent.",
        |port| port.sent_bytes,
    ),
    (
        "taktos_port_received_dropped_total",
        "Frames that were dropped as they arrived.",
        |port| port.received_dropped,
    ),
    (
        "taktos_port_sent_dropped_total",
        "Frames that were dropped before they left, as where a queue is full.",
        |port| port.sent_dropped,
    ),
    (
        "taktos_port_received_errors_total",
        "Frames that arrived damaged.",
        |port| port.received_errors,
    ),
    (
        "taktos_port_sent_errors_total",
        "Frames that could not be sent.",
        |port| port.sent_errors,
    ),
];

/// Writes down what each switch has said last; it is asked anew whenever somebody reads
/// this.
pub fn write(page: &mut Page, switches: &[SwitchStatistics], names: &Names) {
    page.begin(
        "taktos_switch_info",
        "gauge",
        "1 for each switch that is connected, with its name.",
    );
    for switch in switches {
        let (datapath, name) = (switch.datapath, label(&names.switch(switch.datapath)));
        page.line(&format!("{{switch=\"{datapath}\",name=\"{name}\"}}"), 1);
    }
    page.begin(
        "taktos_switch_wanted_entries",
        "gauge",
        "Entries that a switch should have by this controller.",
    );
    for switch in switches {
        let datapath = switch.datapath;
        page.line(&format!("{{switch=\"{datapath}\"}}"), switch.wanted_entries);
    }
    page.begin(
        "taktos_table_entries",
        "gauge",
        "Entries that a table has, whoever gave it them; tables without any are left out.",
    );
    for switch in switches {
        for table in switch.tables.iter().filter(|table| table.entries > 0) {
            let (datapath, number) = (switch.datapath, table.table.0);
            let labels = format!("{{switch=\"{datapath}\",table=\"{number}\"}}");
            page.line(&labels, table.entries);
        }
    }
    for (name, help, count) in PORT_COUNTERS {
        page.begin(name, "counter", help);
        for switch in switches {
            for port in &switch.ports {
                let (datapath, number) = (switch.datapath, port.port.0);
                let labels = format!("{{switch=\"{datapath}\",port=\"{number}\"}}");
                page.line(&labels, count(port));
            }
        }
    }
}
