//! Errors of matches.

use wire::ethernet::EtherType;
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{BadMatch, ErrorKind, Fields, FlowMod, MatchField, Message, TableId};

use super::{Case, bytes, check, refused};
use crate::world::World;

/// Where the match stands in a flow-mod: type, length, fields.
const MATCH: usize = 48;
/// Where the first field stands: class, number, length, value.
const FIELD: usize = MATCH + 4;
const ANY_MASK: &str = "every mask of an address is supported";

#[test]
fn every_bad_match_has_its_reason() {
    check(BadMatch::ALL, ErrorKind::BadMatch, bad_match);
}

fn bad_match(code: BadMatch) -> Case {
    match code {
        BadMatch::BadType => Case::Given(|world| changed(world, ETH_TYPE, MATCH + 1, 0)),
        BadMatch::BadLength => Case::Given(|world| changed(world, ETH_TYPE, FIELD + 3, 1)),
        BadMatch::BadTag => Case::Never("every tag that can be matched is supported"),
        BadMatch::BadDatalinkAddressMask | BadMatch::BadNetworkAddressMask => Case::Never(ANY_MASK),
        // The value has a bit where the mask has none.
        BadMatch::BadWildcards => Case::Given(|world| {
            let fields = [MatchField::Metadata(Masked::under(1, 2))];
            matching(world, &fields)
        }),
        BadMatch::BadField => Case::Given(|world| changed(world, ETH_TYPE, FIELD, 0xff)),
        BadMatch::BadValue => Case::Given(|world| {
            let fields = [
                MatchField::VlanVid(VlanMatch::tagged(1).into()),
                MatchField::VlanPcp(8),
            ];
            matching(world, &fields)
        }),
        // The type of the payload has no mask.
        BadMatch::BadMask => Case::Given(|world| changed(world, ETH_TYPE, FIELD + 2, 0x0b)),
        BadMatch::BadPrerequisite => Case::Given(|world| {
            let fields = [MatchField::TcpDst(80)];
            matching(world, &fields)
        }),
        BadMatch::DuplicateField => Case::Given(|world| {
            let fields = [ETH_TYPE, ETH_TYPE];
            matching(world, &fields)
        }),
        BadMatch::PermissionDenied => {
            Case::Never("who may connect may do everything that his role allows")
        }
    }
}

const ETH_TYPE: MatchField = MatchField::EthType(EtherType::IPV4);

fn matching(world: &mut World, fields: &[MatchField]) -> ErrorKind {
    world.refused(&Message::FlowMod(FlowMod {
        matching: Fields::of(fields),
        ..FlowMod::add(TableId(0))
    }))
}

/// Sends a flow-mod with this match, of which a byte is changed.
fn changed(world: &mut World, field: MatchField, at: usize, value: u8) -> ErrorKind {
    let fields = [field];
    let mut message = bytes(&Message::FlowMod(FlowMod {
        matching: Fields::of(&fields),
        ..FlowMod::add(TableId(0))
    }));
    message[at] = value;
    refused(world, &message)
}
