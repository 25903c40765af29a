//! What stations say to each other over TCP port 102.

#![no_main]

use std::net::Ipv4Addr;

use libfuzzer_sys::fuzz_target;
use measure::traffic::Addresses;
use measure::traffic::mms::{Client, MmsClientConfig, LONGEST_VALUE, Server};
use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::mms::{FIRST_INVOCATION, LAST_INVOCATION, LONGEST_NAME, MmsMessage};

fuzz_target!(|data: &[u8]| {
    if let Ok((message, _)) = MmsMessage::parse(data)
        && is_ours(&message)
    {
        let mut out = Vec::new();
        message.emit(&mut out);
        assert_eq!(MmsMessage::parse(&out), Ok((message, &[][..])));
    }
    let mut client = Client::new(&MmsClientConfig {
        addresses: addresses(),
        period: Duration::from_ms(1),
        start: Instant::ZERO,
        until: None,
        contract: None,
    });
    let mut server = Server::new(addresses(), 10);
    let (mut frame, mut answer) = (Vec::new(), Vec::new());
    client.emit(Instant::ZERO, &mut frame);
    server.received(&frame, &mut answer);
    client.received(Instant::ZERO, &answer);
    server.received(data, &mut answer);
    client.received(Instant::ZERO, data);
    assert!(client.next_due().is_some());
});

/// Tells whether we would say it.
fn is_ours(message: &MmsMessage<'_>) -> bool {
    match message {
        MmsMessage::Read {
            invocation,
            domain,
            item,
        } => {
            (FIRST_INVOCATION..=LAST_INVOCATION).contains(invocation)
                && [domain, item].iter().all(|it| it.len() <= LONGEST_NAME)
        }
        MmsMessage::Value { invocation, value } => {
            (FIRST_INVOCATION..=LAST_INVOCATION).contains(invocation)
                && value.len() <= LONGEST_VALUE
        }
        MmsMessage::ConnectRequest
        | MmsMessage::ConnectConfirm
        | MmsMessage::Associate
        | MmsMessage::Accept => true,
    }
}

fn addresses() -> Addresses {
    Addresses {
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        vlan: None,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        source_port: 40_000,
        destination_port: 102,
        dscp: 0,
    }
}
