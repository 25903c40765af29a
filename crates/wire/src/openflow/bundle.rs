//! Many changes at once: bundles, which version 1.3 has as an extension of the
//! Open Networking Foundation (`ONF-230`, "Bundle extension", for OpenFlow
//! 1.3.X).
//!
//! A controller opens a bundle, adds messages to it, closes it and commits it.
//! The messages are experimenter messages of [`ONF_EXPERIMENTER`]; the errors
//! are experimenter errors with a [`BundleFailed`].

use super::header::{begin, finish};
use super::{
    DecodeError, Element, ErrorKind, HEADER_LENGTH, Header, MessageType, Sequence, TransactionId,
};
use crate::reader::Reader;
use crate::writer::Writer;

/// The experimenter that extensions of the Open Networking Foundation have.
pub const ONF_EXPERIMENTER: u32 = 0x4f4e_4600;

/// The experimenter's number of a control message.
pub(super) const BUNDLE_CONTROL: u32 = 2300;
/// The experimenter's number of a message that adds one.
pub(super) const BUNDLE_ADD: u32 = 2301;

const PROPERTY_HEADER_LENGTH: usize = 4;

/// Names a bundle of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundleId(pub u32);

numbered! {
    /// What is to be done with a bundle, or was (`onf_bundle_ctrl_type`).
    pub enum BundleControlKind: u16 {
        /// Begins it.
        OpenRequest = 0,
        /// It has begun.
        OpenReply = 1,
        /// Ends adding to it.
        CloseRequest = 2,
        /// Nothing more can be added.
        CloseReply = 3,
        /// Does what is in it.
        CommitRequest = 4,
        /// It is done.
        CommitReply = 5,
        /// Forgets it.
        DiscardRequest = 6,
        /// It is forgotten.
        DiscardReply = 7,
    }
}

flags! {
    /// How a bundle is committed (`onf_bundle_flags`).
    pub struct BundleFlags: u16 {
        /// In one step that no frame sees half of.
        ATOMIC = 1 << 0;
        /// In the order in which its messages were added.
        ORDERED = 1 << 1;
    }
}

numbered! {
    /// Why a bundle failed (`onf_bundle_failed_code`, as codes of errors of
    /// [`ONF_EXPERIMENTER`]).
    pub enum BundleFailed: u16 {
        /// Nobody knows.
        Unknown = 2300,
        /// Not allowed.
        PermissionDenied = 2301,
        /// The bundle does not exist.
        BadId = 2302,
        /// The bundle exists already.
        BundleExist = 2303,
        /// The bundle is closed.
        BundleClosed = 2304,
        /// Too many bundles.
        OutOfBundles = 2305,
        /// The kind of control message is unknown.
        BadType = 2306,
        /// The flags are unknown, not supported or not those of the bundle.
        BadFlags = 2307,
        /// The length of the message in the message is wrong.
        MessageBadLength = 2308,
        /// The message and the message in it differ in their transaction.
        MessageBadTransaction = 2309,
        /// Messages of this kind cannot be in a bundle.
        MessageUnsupported = 2310,
        /// The message contradicts one that is in the bundle.
        MessageConflict = 2311,
        /// Too many messages in the bundle.
        MessageTooMany = 2312,
        /// A message in the bundle failed.
        MessageFailed = 2313,
        /// The bundle took too long.
        Timeout = 2314,
        /// Another bundle is being committed.
        BundleInProgress = 2315,
    }
}

impl From<BundleFailed> for ErrorKind {
    fn from(failed: BundleFailed) -> Self {
        Self::Experimenter {
            code: failed.number(),
            experimenter: ONF_EXPERIMENTER,
        }
    }
}

/// What a bundle has beside its messages; an experimenter's, as none is
/// standard (`onf_bundle_prop_header`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleProperty<'a> {
    /// Which property.
    pub kind: u16,
    /// The property.
    pub data: &'a [u8],
}

impl<'a> Element<'a> for BundleProperty<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let (kind, length) = (reader.u16()?, usize::from(reader.u16()?));
        let data = length
            .checked_sub(PROPERTY_HEADER_LENGTH)
            .ok_or(DecodeError::Length)?;
        let data = reader.take(data)?;
        reader.skip(length.next_multiple_of(8) - length)?;
        Ok((Self { kind, data }, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(self.kind).u16(0).bytes(self.data);
        writer.length_at(2).pad_to_8();
    }
}

/// Asks for something to be done with a bundle, or says that it was done
/// (`onf_bundle_ctrl_msg`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleControl<'a> {
    /// Which bundle.
    pub bundle: BundleId,
    /// What.
    pub kind: BundleControlKind,
    /// How the bundle is committed.
    pub flags: BundleFlags,
    /// What else is said.
    pub properties: Sequence<'a, BundleProperty<'a>>,
}

impl<'a> BundleControl<'a> {
    /// Takes apart what follows the experimenter and its type.
    pub(super) fn parse(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        let bundle = BundleId(reader.u32()?);
        let kind = reader.u16()?;
        let kind = BundleControlKind::from_number(kind).ok_or_else(|| DecodeError::Value {
            field: "bundle control type",
            value: u32::from(kind),
            kind: BundleFailed::BadType.into(),
        })?;
        Ok(Self {
            bundle,
            kind,
            flags: BundleFlags(reader.u16()?),
            properties: Sequence::from_bytes(reader.rest()),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Experimenter, transaction, out);
        message.u32(ONF_EXPERIMENTER).u32(BUNDLE_CONTROL);
        message.u32(self.bundle.0);
        message.u16(self.kind.number()).u16(self.flags.0);
        message.with(|out| self.properties.emit(out));
        finish(&mut message);
    }
}

/// Adds a message to a bundle (`onf_bundle_add_msg`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleAdd<'a> {
    /// Which bundle.
    pub bundle: BundleId,
    /// How the bundle is committed.
    pub flags: BundleFlags,
    /// The message, header included. Both messages have the same transaction.
    pub message: &'a [u8],
    /// What else is said.
    pub properties: Sequence<'a, BundleProperty<'a>>,
}

impl<'a> BundleAdd<'a> {
    /// Takes apart what follows the experimenter and its type.
    pub(super) fn parse(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        let bundle = BundleId(reader.u32()?);
        reader.skip(2)?;
        let flags = BundleFlags(reader.u16()?);
        let length = Header::parse(reader.rest()).map_or(0, |header| header.length);
        let message = match usize::from(length) {
            HEADER_LENGTH.. => reader.take(usize::from(length)).ok(),
            _ => None,
        };
        let message = message.ok_or_else(|| DecodeError::Value {
            field: "length of the message in a bundle",
            value: u32::from(length),
            kind: BundleFailed::MessageBadLength.into(),
        })?;
        // Padding is there only in front of properties.
        let padding = message.len().next_multiple_of(8) - message.len();
        reader.skip(padding.min(reader.rest().len()))?;
        Ok(Self {
            bundle,
            flags,
            message,
            properties: Sequence::from_bytes(reader.rest()),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Experimenter, transaction, out);
        message.u32(ONF_EXPERIMENTER).u32(BUNDLE_ADD);
        message.u32(self.bundle.0).zeros::<2>().u16(self.flags.0);
        message.bytes(self.message);
        if self.properties.iter().next().is_some() {
            // What stands in front is a multiple of 8 bytes long.
            message.pad_to_8();
            message.with(|out| self.properties.emit(out));
        }
        finish(&mut message);
    }
}
