//! Hosts that somebody names while the controller runs.

use controller::northbound::{HostRefusal, StaticHost};
use controller::view::{Host, HostOrigin, View};
use controller::{Config, Event, Input, Reply, Request, StoreEvent, StoreWrite};
use units::Duration;
use wire::ethernet::MacAddress;

use crate::fake::{HOST_PORT, Network, group, port, requirement};
use crate::{DIAMOND, fake};

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 7, 7]);

#[test]
fn a_host_that_was_named_is_there_again_after_a_restart() {
    let mut network = Network::started(4, &DIAMOND);
    let named = network.request(Request::SetHost(plc(HOST_PORT)));
    let before = host(&mut network, "plc");

    network.restart_controller(4, &DIAMOND);

    assert_eq!(named, [Reply::HostSet]);
    assert_eq!(host(&mut network, "plc"), before);
    let before = before.unwrap();
    assert_eq!(before.attachment, Some(port(2, u64::from(HOST_PORT))));
    assert_eq!(
        (before.origin, before.addresses.len()),
        (HostOrigin::Named, 1)
    );
    let mut flow = requirement("trip", 1, &[], group(1));
    flow.destinations = vec!["plc".into()];
    assert!(network.admit(flow).is_ok());
}

#[test]
fn a_host_that_was_seen_is_where_it_was_after_a_restart_though_it_says_nothing() {
    let without = |config: &mut Config| config.hosts.retain(|host| host.name != "h3");
    let mut network = Network::with(4, &DIAMOND, without);
    network.connect_all();
    let name = fake::mac(3).to_string();
    network.ask_for_address(3, 3);
    let before = host(&mut network, &name).unwrap();
    let writes = network.writes;

    let mut config = fake::config(4, &DIAMOND);
    without(&mut config);
    network.restart_controller_as(config.clone());
    let after = host(&mut network, &name);
    let repeated = network.writes;
    network.request(Request::RemoveHost(name.clone()));
    network.restart_controller_as(config);

    assert_eq!(before.origin, HostOrigin::Learned);
    let after = after.unwrap();
    assert_eq!(after.attachment, before.attachment);
    assert!(after.attachment.is_some());
    assert_eq!(repeated, writes, "nothing is written that is known");
    assert_eq!(host(&mut network, &name), None);
}

#[test]
fn a_host_that_was_removed_does_not_come_back() {
    let mut network = Network::started(4, &DIAMOND);
    network.request(Request::SetHost(plc(HOST_PORT)));

    let removed = network.request(Request::RemoveHost("plc".into()));
    network.restart_controller(4, &DIAMOND);

    assert_eq!(removed, [Reply::HostRemoved]);
    assert_eq!(host(&mut network, "plc"), None);
}

/// The name of a host that the configuration attaches changes, its port does not.
#[test]
fn a_configured_host_with_another_name_is_where_it_was_after_a_restart() {
    let mut network = Network::started(4, &DIAMOND);
    let renamed = StaticHost {
        name: "relay".into(),
        mac: fake::mac(3),
        ipv4: None,
        ipv6: None,
        attachment: None,
    };
    network.request(Request::SetHost(renamed));

    network.restart_controller(4, &DIAMOND);

    assert_eq!(host(&mut network, "h3"), None);
    let relay = host(&mut network, "relay").unwrap();
    assert_eq!(relay.attachment, Some(port(3, u64::from(HOST_PORT))));
}

#[test]
fn a_host_at_a_port_that_is_not_there_is_refused() {
    let mut network = Network::started(4, &DIAMOND);
    let writes = network.writes;
    for at in [port(2, 7), port(9, 1), port(2, 1)] {
        let host = StaticHost {
            attachment: Some(at),
            ..plc(HOST_PORT)
        };

        let replies = network.request(Request::SetHost(host));

        let refusal = HostRefusal::NoAccess { port: at };
        assert_eq!(replies, [Reply::HostRefused(refusal)]);
    }
    assert_eq!(network.writes, writes);
    assert_eq!(host(&mut network, "plc"), None);
}

#[test]
fn what_the_store_cannot_keep_is_not_named() {
    let mut network = Network::started(4, &DIAMOND);
    network.store_works = false;

    let replies = network.request(Request::SetHost(plc(HOST_PORT)));

    assert_eq!(replies, [Reply::NotStored]);
    assert_eq!(host(&mut network, "plc"), None);
}

#[test]
fn a_damaged_record_of_a_host_is_told_and_left_alone() {
    let mut network = Network::started(4, &DIAMOND);
    let record = StoreWrite {
        key: controller::store::Key::Host(MAC),
        value: Some(vec![0xff]),
    };

    network.input(Input::Stored(StoreEvent::Written(record)));

    assert!(network.events.contains(&Event::HostUnusable { mac: MAC }));
    assert_eq!(host(&mut network, "plc"), None);
}

#[test]
fn a_host_whose_cable_is_out_for_long_is_forgotten_and_one_that_is_needed_is_not() {
    let mut network = Network::started(4, &DIAMOND);
    let at = port(2, u64::from(HOST_PORT));
    for host in [8, 9] {
        network.trace_from(host, at, group(9));
    }
    let mut flow = requirement("trip", 1, &[], group(1));
    flow.destinations = vec![fake::mac(9).to_string()];
    network.admit(flow).unwrap();

    network.plug(at, false);
    network.pass(Duration::from_secs(200));
    let soon = known(&mut network);
    network.pass(Duration::from_secs(110));
    let late = known(&mut network);

    assert_eq!(soon, [true, true, true]);
    assert_eq!(late, [true, false, true]);
    let name = fake::mac(8).to_string();
    assert!(network.events.contains(&Event::HostRemoved { name }));
}

#[test]
fn a_host_whose_cable_is_back_in_time_stays_known() {
    let mut network = Network::started(4, &DIAMOND);
    let at = port(2, u64::from(HOST_PORT));
    network.trace_from(8, at, group(9));

    for _ in 0..3 {
        network.plug(at, false);
        network.pass(Duration::from_secs(200));
        network.plug(at, true);
        network.pass(Duration::from_secs(1));
    }

    assert_eq!(known(&mut network), [true, true, false]);
}

/// Returns whether the configured host of switch 2 and the hosts 8 and 9 are known.
fn known(network: &mut Network) -> [bool; 3] {
    let view = view(network);
    [2, 8, 9].map(|number| view.host_by_mac(fake::mac(number)).is_some())
}

fn plc(number: u32) -> StaticHost {
    StaticHost {
        name: "plc".into(),
        mac: MAC,
        ipv4: Some([10, 0, 0, 77].into()),
        ipv6: None,
        attachment: Some(port(2, u64::from(number))),
    }
}

fn host(network: &mut Network, name: &str) -> Option<Host> {
    view(network).host(name).cloned()
}

fn view(network: &mut Network) -> View {
    match &network.request(Request::View)[..] {
        [Reply::View(view)] => (**view).clone(),
        other => panic!("{other:?}"),
    }
}
