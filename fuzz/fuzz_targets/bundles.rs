//! Makes messages about bundles and tables of a script.

use wire::openflow::multipart::{MultipartRequest, RequestBody, TableFeatures};
use wire::openflow::{
    BundleAdd, BundleControl, BundleControlKind, BundleFlags, BundleId, Header, Sequence, TableId,
    TransactionId,
};

use crate::changes;
use crate::script::Script;

/// Takes a message: mostly one that adds a change to a bundle.
pub fn message(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let what = script.byte()?;
    let bundle = BundleId(u32::from(what >> 7));
    Some(match what % 8 {
        0 => control(bundle, BundleControlKind::CommitRequest),
        1 => {
            let kinds = BundleControlKind::ALL;
            control(bundle, kinds[usize::from(script.byte()?) % kinds.len()])
        }
        2 => set_tables(usize::from(script.byte()? % 4)),
        _ => add(bundle, &changes::change(script)?),
    })
}

fn control(bundle: BundleId, kind: BundleControlKind) -> Vec<u8> {
    let mut message = Vec::new();
    let control = BundleControl {
        bundle,
        kind,
        flags: BundleFlags::ATOMIC,
        properties: Sequence::EMPTY,
    };
    control.emit(TransactionId(1), &mut message);
    message
}

fn add(bundle: BundleId, change: &[u8]) -> Vec<u8> {
    let header = Header::parse(change).expect("a change is a message");
    let mut message = Vec::new();
    let add = BundleAdd {
        bundle,
        flags: BundleFlags::ATOMIC,
        message: change,
        properties: Sequence::EMPTY,
    };
    add.emit(header.transaction, &mut message);
    message
}

/// Asks for so many tables, or with 0 which there are.
fn set_tables(count: usize) -> Vec<u8> {
    let tables = [0, 1, 2, 3].map(|table| TableFeatures {
        table: TableId(table),
        name: "fuzzed",
        metadata_match: 0,
        metadata_write: 0,
        config: 0,
        max_entries: 0,
        properties: Sequence::EMPTY,
    });
    let body = RequestBody::TableFeatures(Sequence::of(&tables[..count]));
    let mut message = Vec::new();
    MultipartRequest::new(body).emit(TransactionId(1), &mut message);
    message
}
