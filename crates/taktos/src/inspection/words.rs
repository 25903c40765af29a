//! The words for what entries look at and do: fields as the OpenFlow
//! specification names them, actions as `ovs-ofctl` does.

use std::fmt::{Display, LowerHex};

use serde_json::{Map, Value};
use units::Duration;
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::taktos::{
    Eliminate, ExceedAction, Police, RecoveryAlgorithm, SequenceEncoding, TrailerAction,
};
use wire::openflow::{
    Action, Actions, Band, Bucket, ControllerLength, DecodeError, FieldKind, Fields, GroupId,
    GroupType, Instruction, Instructions, MatchField, MeterId, PortNumber,
};

/// Returns a match as an object with a member for each field.
///
/// # Errors
///
/// If a field cannot be read.
pub fn matching(fields: &Fields<'_>) -> Result<Value, DecodeError> {
    let members = fields
        .iter()
        .map(|field| field.map(|field| (field_name(field.kind()).to_owned(), value(&field))));
    members.collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

/// Returns a field of a match: its name and its value.
#[must_use]
pub fn field(field: &MatchField) -> (String, Value) {
    (field_name(field.kind()).to_owned(), value(field))
}

/// Returns what an entry does, one word for each action or instruction.
///
/// # Errors
///
/// If an action cannot be read.
pub fn instructions(instructions: &Instructions<'_>) -> Result<Vec<String>, DecodeError> {
    let mut words = Vec::new();
    for instruction in instructions.iter() {
        match instruction? {
            Instruction::GotoTable(table) => words.push(format!("goto_table:{}", table.0)),
            Instruction::WriteMetadata { metadata, mask } => words.push(match mask {
                u64::MAX => format!("write_metadata:{metadata:#x}"),
                _ => format!("write_metadata:{metadata:#x}/{mask:#x}"),
            }),
            Instruction::WriteActions(written) => {
                let written = actions(&written)?.join(",");
                words.push(format!("write_actions({written})"));
            }
            Instruction::ApplyActions(applied) => words.extend(actions(&applied)?),
            Instruction::ClearActions => words.push("clear_actions".to_owned()),
            Instruction::Meter(meter) => words.push(format!("meter:{}", meter_name(meter))),
        }
    }
    if words.is_empty() {
        words.push("drop".to_owned());
    }
    Ok(words)
}

/// Returns one word for each action.
///
/// # Errors
///
/// If an action cannot be read.
pub fn actions(actions: &Actions<'_>) -> Result<Vec<String>, DecodeError> {
    actions.iter().map(|it| it.map(|it| action(&it))).collect()
}

/// Returns a word for an action.
#[must_use]
pub fn action(action: &Action) -> String {
    match action {
        Action::Output {
            port: PortNumber::CONTROLLER,
            max_length: ControllerLength::NO_BUFFER,
        } => "CONTROLLER".to_owned(),
        Action::Output {
            port: PortNumber::CONTROLLER,
            max_length,
        } => format!("CONTROLLER:{}", max_length.0),
        Action::Output { port, .. } if port.is_ordinary() => format!("output:{}", port.0),
        Action::Output { port, .. } => port_name(*port),
        Action::CopyTtlOut => "copy_ttl_out".to_owned(),
        Action::CopyTtlIn => "copy_ttl_in".to_owned(),
        Action::SetMplsTtl(ttl) => format!("set_mpls_ttl:{ttl}"),
        Action::DecrementMplsTtl => "dec_mpls_ttl".to_owned(),
        Action::PushVlan(kind) => format!("push_vlan:{:#06x}", kind.0),
        Action::PopVlan => "pop_vlan".to_owned(),
        Action::PushMpls(kind) => format!("push_mpls:{:#06x}", kind.0),
        Action::PopMpls(kind) => format!("pop_mpls:{:#06x}", kind.0),
        Action::SetQueue(queue) => format!("set_queue:{}", queue.0),
        Action::Group(group) => format!("group:{}", group.0),
        Action::SetNetworkTtl(ttl) => format!("set_nw_ttl:{ttl}"),
        Action::DecrementNetworkTtl => "dec_ttl".to_owned(),
        Action::SetField(field) => {
            format!(
                "set_field:{}->{}",
                plain(&value(field)),
                field_name(field.kind())
            )
        }
        Action::PushPbb(kind) => format!("push_pbb:{:#06x}", kind.0),
        Action::PopPbb => "pop_pbb".to_owned(),
        Action::FlowMonitor(monitor) => format!("flow_monitor:{}", monitor.0),
        Action::ModeArrange => "mode_arrange".to_owned(),
        Action::QueuedFrame(fates) => format!("queued_fate:{:#010x}", fates.number()),
        Action::Police(police) => police_words(police),
        Action::Sequence(stream) => format!("sequence:{:#x}", stream.0),
        Action::Eliminate(how) => eliminate_words(how),
        Action::Trailer(TrailerAction::Number(stream)) => format!("trailer:{:#x}", stream.0),
        Action::Trailer(TrailerAction::Supervise) => "supervise".to_owned(),
        Action::Trailer(TrailerAction::Lan(lan)) => format!("trailer_lan:{:#x}", lan.number()),
    }
}

fn eliminate_words(how: &Eliminate) -> String {
    let algorithm = match how.algorithm {
        RecoveryAlgorithm::Match => "match".to_owned(),
        RecoveryAlgorithm::Vector => format!("history={}", how.history),
        RecoveryAlgorithm::DuplicateDiscard => format!("duplicate-discard={}", how.history),
    };
    let encoding = match how.encoding {
        SequenceEncoding::RTag => "",
        SequenceEncoding::Prp => ",prp",
    };
    let strips = if how.strips_tag { ",strip" } else { "" };
    let takes = if how.takes_unnumbered {
        ",unnumbered"
    } else {
        ""
    };
    let holds = match how.hold {
        Duration::ZERO => String::new(),
        hold => format!(",hold={hold}"),
    };
    format!(
        "eliminate({:#x},{algorithm},reset={}{encoding}{strips}{takes}{holds})",
        how.stream.0, how.reset
    )
}

fn police_words(police: &Police) -> String {
    let mut words = format!(
        "police(rate={},burst={},largest={}",
        police.rate, police.burst, police.largest
    );
    if let Some(frames) = police.frames {
        let whole = |millionths: u64| millionths as f64 / 1e6;
        let (rate, burst) = (whole(frames.rate), whole(frames.burst));
        words += &format!(",frames={rate}/s,frames_burst={burst}");
    }
    if police.excess == ExceedAction::BestEffort {
        words += ",excess=best-effort";
    }
    words + ")"
}

/// Returns a port as `ovs-ofctl` names it.
#[must_use]
pub fn port_name(port: PortNumber) -> String {
    match port {
        PortNumber::IN_PORT => "IN_PORT".to_owned(),
        PortNumber::TABLE => "TABLE".to_owned(),
        PortNumber::NORMAL => "NORMAL".to_owned(),
        PortNumber::FLOOD => "FLOOD".to_owned(),
        PortNumber::ALL => "ALL".to_owned(),
        PortNumber::CONTROLLER => "CONTROLLER".to_owned(),
        PortNumber::LOCAL => "LOCAL".to_owned(),
        PortNumber::ANY => "ANY".to_owned(),
        PortNumber(number) => number.to_string(),
    }
}

/// Returns a port as a number, or as the name of one that has a meaning.
#[must_use]
pub fn port(port: PortNumber) -> Value {
    match port.is_ordinary() {
        true => port.0.into(),
        false => port_name(port).into(),
    }
}

/// Returns a group type as `ovs-ofctl` names it.
#[must_use]
pub fn group_type(kind: GroupType) -> &'static str {
    match kind {
        GroupType::All => "all",
        GroupType::Select => "select",
        GroupType::Indirect => "indirect",
        GroupType::FastFailover => "ff",
    }
}

/// Returns what a bucket says, as in `weight:1,watch_port:2,output:2`.
///
/// # Errors
///
/// If an action cannot be read.
pub fn bucket(bucket: &Bucket<'_>) -> Result<String, DecodeError> {
    let mut words = Vec::new();
    if bucket.weight != 0 {
        words.push(format!("weight:{}", bucket.weight));
    }
    if bucket.watch_port != PortNumber::ANY {
        words.push(format!("watch_port:{}", port_name(bucket.watch_port)));
    }
    if bucket.watch_group != GroupId::ANY {
        words.push(format!("watch_group:{}", bucket.watch_group.0));
    }
    words.extend(actions(&bucket.actions)?);
    Ok(words.join(","))
}

/// Returns what a band says, its rates in `unit`.
#[must_use]
pub fn band(band: &Band, unit: &str) -> String {
    match band {
        Band::Drop { rate, burst: 0 } => format!("drop above {rate} {unit}"),
        Band::Drop { rate, burst } => format!("drop above {rate} {unit}, burst {burst}"),
        Band::DscpRemark {
            rate,
            burst,
            levels,
        } => {
            let burst = match burst {
                0 => String::new(),
                burst => format!(", burst {burst}"),
            };
            format!("dscp_remark by {levels} above {rate} {unit}{burst}")
        }
    }
}

/// Returns a meter as a number, or as the name of one that has a meaning.
#[must_use]
pub fn meter(meter: MeterId) -> Value {
    match meter.0 <= MeterId::MAX.0 {
        true => meter.0.into(),
        false => meter_name(meter).into(),
    }
}

/// Returns a meter's number, or what it is for.
#[must_use]
pub fn meter_name(meter: MeterId) -> String {
    match meter {
        MeterId::SLOW_PATH => "slowpath".to_owned(),
        MeterId::CONTROLLER => "controller".to_owned(),
        MeterId(number) => number.to_string(),
    }
}

/// Returns a match or another value on one line.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| format!("{name}={}", plain(value)))
            .collect::<Vec<_>>()
            .join(","),
    }
}

fn field_name(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::InPort => "in_port",
        FieldKind::InPhysicalPort => "in_phy_port",
        FieldKind::Metadata => "metadata",
        FieldKind::EthDst => "eth_dst",
        FieldKind::EthSrc => "eth_src",
        FieldKind::EthType => "eth_type",
        FieldKind::VlanVid => "vlan_vid",
        FieldKind::VlanPcp => "vlan_pcp",
        FieldKind::IpDscp => "ip_dscp",
        FieldKind::IpEcn => "ip_ecn",
        FieldKind::IpProto => "ip_proto",
        FieldKind::Ipv4Src => "ipv4_src",
        FieldKind::Ipv4Dst => "ipv4_dst",
        FieldKind::TcpSrc => "tcp_src",
        FieldKind::TcpDst => "tcp_dst",
        FieldKind::UdpSrc => "udp_src",
        FieldKind::UdpDst => "udp_dst",
        FieldKind::SctpSrc => "sctp_src",
        FieldKind::SctpDst => "sctp_dst",
        FieldKind::Icmpv4Type => "icmpv4_type",
        FieldKind::Icmpv4Code => "icmpv4_code",
        FieldKind::ArpOp => "arp_op",
        FieldKind::ArpSpa => "arp_spa",
        FieldKind::ArpTpa => "arp_tpa",
        FieldKind::ArpSha => "arp_sha",
        FieldKind::ArpTha => "arp_tha",
        FieldKind::Ipv6Src => "ipv6_src",
        FieldKind::Ipv6Dst => "ipv6_dst",
        FieldKind::Ipv6Flabel => "ipv6_flabel",
        FieldKind::Icmpv6Type => "icmpv6_type",
        FieldKind::Icmpv6Code => "icmpv6_code",
        FieldKind::Ipv6NdTarget => "ipv6_nd_target",
        FieldKind::Ipv6NdSll => "ipv6_nd_sll",
        FieldKind::Ipv6NdTll => "ipv6_nd_tll",
        FieldKind::MplsLabel => "mpls_label",
        FieldKind::MplsTc => "mpls_tc",
        FieldKind::MplsBos => "mpls_bos",
        FieldKind::PbbIsid => "pbb_isid",
        FieldKind::TunnelId => "tunnel_id",
        FieldKind::Ipv6Exthdr => "ipv6_exthdr",
        FieldKind::Level => "level",
    }
}

/// Returns what a field has to be: a number or a text, with its mask if it has
/// one.
fn value(field: &MatchField) -> Value {
    match *field {
        MatchField::InPort(it) | MatchField::InPhysicalPort(it) => port(it),
        MatchField::EthType(kind) => format!("{:#06x}", kind.0).into(),
        MatchField::VlanVid(vlan) => vlan_value(vlan),
        MatchField::Metadata(it) | MatchField::TunnelId(it) => hexadecimal(it),
        MatchField::Ipv6Flabel(it) => hexadecimal(it),
        MatchField::Ipv6Exthdr(it) => hexadecimal(it),
        MatchField::Level(it) if it.mask.is_none() => it.value.into(),
        MatchField::Level(it) => hexadecimal(it),
        MatchField::PbbIsid(it) => hexadecimal(Masked {
            value: isid(it.value),
            mask: it.mask.map(isid),
        }),
        MatchField::EthDst(it)
        | MatchField::EthSrc(it)
        | MatchField::ArpSha(it)
        | MatchField::ArpTha(it) => shown(it),
        MatchField::Ipv4Src(it)
        | MatchField::Ipv4Dst(it)
        | MatchField::ArpSpa(it)
        | MatchField::ArpTpa(it) => {
            let bits = it.mask.map(|mask| u128::from(mask.to_bits()) << 96);
            network(it, bits)
        }
        MatchField::Ipv6Src(it) | MatchField::Ipv6Dst(it) => {
            network(it, it.mask.map(|mask| mask.to_bits()))
        }
        MatchField::Ipv6NdTarget(address) => address.to_string().into(),
        MatchField::Ipv6NdSll(address) | MatchField::Ipv6NdTll(address) => {
            address.to_string().into()
        }
        MatchField::VlanPcp(it)
        | MatchField::IpDscp(it)
        | MatchField::IpEcn(it)
        | MatchField::IpProto(it)
        | MatchField::Icmpv4Type(it)
        | MatchField::Icmpv4Code(it)
        | MatchField::Icmpv6Type(it)
        | MatchField::Icmpv6Code(it)
        | MatchField::MplsTc(it)
        | MatchField::MplsBos(it) => it.into(),
        MatchField::TcpSrc(it)
        | MatchField::TcpDst(it)
        | MatchField::UdpSrc(it)
        | MatchField::UdpDst(it)
        | MatchField::SctpSrc(it)
        | MatchField::SctpDst(it)
        | MatchField::ArpOp(it) => it.into(),
        MatchField::MplsLabel(label) => label.into(),
    }
}

fn vlan_value(vlan: Masked<VlanMatch>) -> Value {
    match (vlan.mask, vlan.value.id()) {
        (None, Some(id)) => id.into(),
        (None, None) => "none".into(),
        (Some(VlanMatch::PRESENT), Some(0)) => "any".into(),
        (Some(mask), _) => format!("{:#x}/{:#x}", vlan.value.0, mask.0).into(),
    }
}

fn isid([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}

/// Returns an address with its mask, which stands in the upper bits of `mask`: as
/// the length of a prefix, if it is one.
fn network(it: Masked<impl Display>, mask: Option<u128>) -> Value {
    match mask {
        Some(mask) if mask.leading_ones() + mask.trailing_zeros() == u128::BITS => {
            format!("{}/{}", it.value, mask.leading_ones()).into()
        }
        Some(_) | None => shown(it),
    }
}

fn shown(it: Masked<impl Display>) -> Value {
    match it.mask {
        None => it.value.to_string().into(),
        Some(mask) => format!("{}/{mask}", it.value).into(),
    }
}

fn hexadecimal(it: Masked<impl LowerHex>) -> Value {
    match it.mask {
        None => format!("{:#x}", it.value).into(),
        Some(mask) => format!("{:#x}/{mask:#x}", it.value).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use wire::ethernet::EtherType;
    use wire::openflow::{QueueId, TableId};

    use super::*;

    #[test]
    fn a_match_is_shown_field_by_field_with_its_masks() {
        let fields = [
            MatchField::InPort(PortNumber(3)),
            MatchField::EthType(EtherType(0x0800)),
            MatchField::VlanVid(Masked::exact(VlanMatch::tagged(100))),
            MatchField::Ipv4Dst(Masked::under(
                Ipv4Addr::new(10, 0, 0, 0),
                Ipv4Addr::new(255, 0, 0, 0),
            )),
            MatchField::Ipv4Src(Masked::under(
                Ipv4Addr::new(10, 0, 0, 1),
                Ipv4Addr::new(255, 0, 0, 255),
            )),
            MatchField::Metadata(Masked::under(0x10, 0xf0)),
        ];

        let shown = plain(&matching(&Fields::of(&fields)).unwrap());

        assert_eq!(
            shown,
            "in_port=3,eth_type=0x0800,vlan_vid=100,ipv4_dst=10.0.0.0/8,\
             ipv4_src=10.0.0.1/255.0.0.255,metadata=0x10/0xf0"
        );
    }

    #[test]
    fn what_an_entry_does_is_shown_in_the_words_of_ovs_ofctl() {
        let applied = [
            Action::PushVlan(EtherType(0x8100)),
            Action::SetField(MatchField::VlanVid(Masked::exact(VlanMatch::tagged(7)))),
            Action::SetQueue(QueueId(5)),
            Action::output(PortNumber(2)),
            Action::output(PortNumber::CONTROLLER),
        ];
        let list = [
            Instruction::Meter(MeterId(4)),
            Instruction::ApplyActions(Actions::of(&applied)),
            Instruction::GotoTable(TableId(1)),
        ];

        let shown = instructions(&Instructions::of(&list)).unwrap().join(",");

        assert_eq!(
            shown,
            "meter:4,push_vlan:0x8100,set_field:7->vlan_vid,set_queue:5,output:2,CONTROLLER,\
             goto_table:1"
        );
        assert_eq!(instructions(&Instructions::EMPTY).unwrap(), ["drop"]);
    }
}
