use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

#[test]
fn a_link_is_up_once_both_directions_are_confirmed() {
    let mut view = two_switches();

    let first = view.confirm(at(1), id(1, 1), id(2, 1));
    let up_after_first = view.is_up(LinkEnds::new(id(1, 1), id(2, 1)));
    let second = view.confirm(at(2), id(2, 1), id(1, 1));

    assert_eq!(first, Confirmed::OneWay);
    assert!(!up_after_first);
    assert!(matches!(
        second,
        Confirmed::Up {
            replaced: [None, None],
            ..
        }
    ));
}

#[test]
fn a_recabled_port_loses_its_old_link() {
    let mut view = two_switches();
    view.confirm(at(1), id(1, 1), id(2, 1));
    view.confirm(at(1), id(2, 1), id(1, 1));
    let old = view.link(LinkEnds::new(id(1, 1), id(2, 1))).unwrap();

    view.confirm(at(2), id(1, 1), id(2, 2));
    let change = view.confirm(at(2), id(2, 2), id(1, 1));

    let Confirmed::Up { replaced, .. } = change else {
        panic!("{change:?}")
    };
    assert_eq!(replaced, [Some(old), None]);
    assert_eq!(view.links()[old.index()].carrier, Carrier::Down);
}

#[test]
fn a_link_whose_probes_stopped_one_way_is_silent() {
    let mut view = two_switches();
    view.confirm(at(1), id(1, 1), id(2, 1));
    view.confirm(at(1), id(2, 1), id(1, 1));
    view.confirm(at(5), id(1, 1), id(2, 1));

    let silent: Vec<LinkId> = view.silent_since(at(3)).collect();

    assert_eq!(silent, [LinkId(0)]);
}

#[test]
fn a_switch_out_of_reach_does_not_silence_its_links() {
    let mut view = two_switches();
    view.confirm(at(1), id(1, 1), id(2, 1));
    view.confirm(at(1), id(2, 1), id(1, 1));
    let switch = view.switch(DatapathId(2)).unwrap();

    view.disconnect(switch);

    assert_eq!(view.silent_since(at(9)).count(), 0);
}

#[test]
fn a_host_leaves_a_port_that_turns_out_to_be_a_trunk() {
    let mut view = two_switches();
    let host = |attachment| Host {
        name: "h".into(),
        mac: MacAddress([2, 0, 0, 0, 0, 9]),
        addresses: Vec::new(),
        attachment,
        origin: HostOrigin::Learned,
    };
    view.set_host(host(Some(id(1, 1)))).unwrap();

    view.confirm(at(1), id(1, 1), id(2, 1));
    view.confirm(at(1), id(2, 1), id(1, 1));

    assert_eq!(view.host("h").unwrap().attachment, None);
    assert_eq!(view.set_host(host(Some(id(1, 1)))), None);
}

proptest! {
    /// S1-2: whatever happens in whatever order, the structure stays whole.
    #[test]
    fn the_view_is_always_whole(steps in prop::collection::vec(step(), 0..80)) {
        let mut view = View::default();

        for (now, step) in (0..).zip(steps) {
            apply(&mut view, at(now), step);

            assert_whole(&view);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Connect(u64),
    Disconnect(u64),
    Port(PortId, Carrier),
    Probe(PortId, PortId),
    Host(u8, PortId, Vec<u32>),
    Remove(u8),
    Age(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let port = || (0..4u64, 1..4u32).prop_map(|(datapath, port)| id(datapath, port));
    prop_oneof![
        (0..4u64).prop_map(Step::Connect),
        (0..4u64).prop_map(Step::Disconnect),
        (port(), any::<bool>()).prop_map(|(port, up)| {
            Step::Port(port, if up { Carrier::Up } else { Carrier::Down })
        }),
        (port(), port()).prop_map(|(from, to)| Step::Probe(from, to)),
        (port(), port()).prop_map(|(from, to)| Step::Probe(from, to)),
        (0..6u8, port(), prop::collection::vec(0..12u32, 0..10))
            .prop_map(|(host, port, addresses)| Step::Host(host, port, addresses)),
        (0..6u8).prop_map(Step::Remove),
        (0..80u64).prop_map(Step::Age),
    ]
}

fn apply(view: &mut View, now: Instant, step: Step) {
    match step {
        Step::Connect(datapath) => {
            view.connect(now, DatapathId(datapath), &ports());
        }
        Step::Disconnect(datapath) => {
            if let Some(switch) = view.switch(DatapathId(datapath)) {
                view.disconnect(switch);
            }
        }
        Step::Port(port, carrier) => {
            if let Some(switch) = view.switch(port.datapath) {
                view.set_port(
                    now,
                    switch,
                    Port {
                        carrier,
                        ..new_port(port.port.0)
                    },
                );
            }
        }
        Step::Probe(from, to) => {
            view.confirm(now, from, to);
        }
        Step::Host(host, port, addresses) => {
            let addresses = addresses.into_iter().map(Ipv4Addr::from);
            view.set_host(Host {
                name: format!("h{host}"),
                mac: MacAddress([2, 0, 0, 0, 0, host]),
                addresses: addresses.map(IpAddr::V4).collect(),
                attachment: Some(port),
                origin: HostOrigin::Learned,
            });
        }
        Step::Remove(host) => {
            view.remove_host(MacAddress([2, 0, 0, 0, 0, host]));
        }
        Step::Age(limit) => {
            let silent: Vec<LinkId> = view.silent_since(at(limit)).collect();
            for link in silent {
                view.lose(now, link);
            }
        }
    }
}

fn assert_whole(view: &View) {
    for (index, link) in view.links().iter().enumerate() {
        for end in link.ends.both() {
            let port = view.port(end).expect("a link joins ports that are there");
            if link.carrier == Carrier::Up {
                assert_eq!(port.link.map(LinkId::index), Some(index));
                assert_eq!(port.carrier, Carrier::Up);
                assert!(!view.is_access(end));
            }
        }
    }
    for host in view.hosts() {
        assert!(host.attachment.is_none_or(|port| view.is_access(port)));
        assert_eq!(view.host(&host.name), Some(host));
        assert_eq!(view.host_by_mac(host.mac), Some(host));
        assert!(host.addresses.len() <= MAX_ADDRESSES);
        for address in &host.addresses {
            assert_eq!(view.host_by_address(*address), Some(host));
        }
    }
    let attached = view.hosts().iter().filter(|host| host.attachment.is_some());
    assert_eq!(view.by_attachment.len(), attached.count());
    let addresses = view.hosts().iter().map(|host| host.addresses.len());
    assert_eq!(view.by_address.len(), addresses.sum::<usize>());
    let hosts = view.hosts().len();
    assert_eq!((view.by_mac.len(), view.by_name.len()), (hosts, hosts));
}

fn two_switches() -> View {
    let mut view = View::default();
    view.connect(at(0), DatapathId(1), &ports());
    view.connect(at(0), DatapathId(2), &ports());
    view
}

fn ports() -> [Port; 3] {
    [1, 2, 3].map(new_port)
}

fn new_port(number: u32) -> Port {
    Port {
        number: PortNumber(number),
        mac: MacAddress::ZERO,
        carrier: Carrier::Up,
        link: None,
    }
}

fn id(datapath: u64, port: u32) -> PortId {
    PortId::new(DatapathId(datapath), PortNumber(port))
}

fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}
