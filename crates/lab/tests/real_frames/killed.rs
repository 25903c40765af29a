//! What a run leaves behind that is killed without a chance to clean up.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use lab::network::LabNetwork;
use lab::switches::{Carried, Forwarding, SwitchSettings, Switches};
use lab::veth::{self, VethEnd};
use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::netlink::Netlink;
use switch::{Config, Pacing, PortConfig};
use units::{BitRate, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use crate::network::plan;
use crate::{await_some, kernel_forwards, namespace_or_skip};

/// Set for the process that is to be killed.
const VICTIM: &str = "TAKTOS_TEST_VICTIM";
const READY: &str = "the network stands";

#[test]
fn a_killed_run_leaves_no_namespace_and_no_interface_behind() {
    let test = "a_killed_run_leaves_no_namespace_and_no_interface_behind";
    let Some(outside) = namespace_or_skip(test) else {
        return;
    };
    let witness = || outside.run(|| Interface::named("witness"));
    let mut victim = outside.run(|| {
        Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "killed::a_victim_builds_a_network_and_waits",
                "--nocapture",
            ])
            .env(VICTIM, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let mut said = BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(
        said.any(|line| line.unwrap().contains(READY)),
        "the victim built nothing"
    );
    assert!(witness().is_ok());

    victim.kill().unwrap();
    victim.wait().unwrap();

    // The far end of its cable is in a namespace of the victim. It goes when that
    // namespace goes, and its near end, which is ours, with it.
    await_some("the end of the namespace", || {
        witness().is_err().then_some(())
    });
}

/// Does nothing unless it is run by the test above.
#[test]
fn a_victim_builds_a_network_and_waits() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let network = LabNetwork::build(&plan()).unwrap();
    // Where the kernel forwards, its programs are at the ports.
    let forwarding = match kernel_forwards("a_victim_builds_a_network_and_waits") {
        true => Forwarding::Kernel,
        false => Forwarding::Loop(Carried::Packet),
    };
    let settings = SwitchSettings::for_this_machine(forwarding, Duration::from_us(100), 6653);
    let configs = [config(1, 2), config(2, 1)];
    let _switches = Switches::start(&network, &configs, settings).unwrap();
    let (here, inside) = (Namespace::current().unwrap(), Namespace::new().unwrap());
    let end = |namespace, name, index| VethEnd {
        namespace,
        name,
        index,
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
    };
    let mut netlink = Netlink::open().unwrap();
    veth::lay(
        &mut netlink,
        [end(&here, "witness", 11), end(&inside, "far", 12)],
    )
    .unwrap();

    println!("{READY}");

    // Nothing is ever written to it.
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn config(switch: u64, ports: u32) -> Config {
    let ports = (1..=ports).map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 9, 0, 0, 0, 1]),
        rate: Some(BitRate::from_mbps(100)),
        pacing: Pacing::Core,
    });
    Config::new(DatapathId(switch), ports.collect())
}
