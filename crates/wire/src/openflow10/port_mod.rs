//! Changing a port (OF10 section 5.3.3).

use super::header::{begin, finish};
use super::{MessageType, PortConfig, PortFeatures, PortNumber};
use crate::ethernet::MacAddress;
use crate::openflow::{DecodeError, TransactionId};
use crate::reader::Reader;

/// Changes a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortMod {
    /// Which port.
    pub port: PortNumber,
    /// Its address, to be sure.
    pub address: MacAddress,
    /// The new configuration.
    pub config: PortConfig,
    /// Which bits of it change.
    pub mask: PortConfig,
    /// What it is to tell its neighbour; nothing for no change.
    pub advertise: PortFeatures,
}

impl PortMod {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            port: PortNumber(reader.u16()?),
            address: MacAddress(reader.array()?),
            config: PortConfig(reader.u32()?),
            mask: PortConfig(reader.u32()?),
            advertise: PortFeatures(reader.u32()?),
        })
    }

    /// Appends the message to `out`.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::PortMod, transaction, out);
        message.u16(self.port.0).bytes(&self.address.0);
        message.u32(self.config.0).u32(self.mask.0);
        finish(message.u32(self.advertise.0).zeros::<4>());
    }
}
