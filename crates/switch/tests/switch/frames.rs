//! Frames to send through a switch.

/// An untagged frame of this type, from station 1 to station 2.
pub fn frame(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend_from_slice(&ether_type.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// The same frame with a VLAN tag in front of the type.
pub fn tagged(id: u16, priority: u16, untagged: &[u8]) -> Vec<u8> {
    let (addresses, rest) = untagged.split_at(12);
    let control = priority << 13 | id;
    [
        addresses,
        &0x8100u16.to_be_bytes(),
        &control.to_be_bytes(),
        rest,
    ]
    .concat()
}

/// A frame with a UDP datagram from 10.0.0.1 port 1000 to 10.0.0.2 port 2000.
pub fn udp(ttl: u8, payload: &[u8]) -> Vec<u8> {
    let length = |header: usize| {
        let length = u16::try_from(header + payload.len()).expect("a short payload");
        length.to_be_bytes()
    };
    let [udp_high, udp_low] = length(8);
    let [ip_high, ip_low] = length(28);
    let mut ip = vec![0x45, 0, ip_high, ip_low, 0, 1, 0, 0, ttl, 17, 0, 0];
    ip.extend_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());

    let mut datagram = vec![0x03, 0xe8, 0x07, 0xd0, udp_high, udp_low, 0, 0];
    datagram.extend_from_slice(payload);
    let pseudo = [&ip[12..20], &[0, 17, udp_high, udp_low], &datagram].concat();
    let sum = checksum(&pseudo);
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    frame(0x0800, &[ip, datagram].concat())
}

/// The same untagged IPv4 frame with another code point.
pub fn with_dscp(dscp: u8, ipv4: &[u8]) -> Vec<u8> {
    let mut frame = ipv4.to_vec();
    frame[15] = dscp << 2;
    frame[24..26].fill(0);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Whether the checksums of an untagged frame with a UDP datagram are right.
pub fn checksums_hold(frame: &[u8]) -> bool {
    let (ip, datagram) = frame[14..].split_at(20);
    let pseudo = [&ip[12..20], &[0, 17], &datagram[4..6], datagram].concat();
    checksum(ip) == 0 && checksum(&pseudo) == 0
}

/// The Internet checksum, RFC 1071; zero over bytes that contain a right one.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|word| {
        let low = word.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([word[0], low]))
    });
    let sum: u32 = words.sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    let folded = (folded >> 16) + (folded & 0xffff);
    !u16::try_from(folded).expect("folded into 16 bits")
}
