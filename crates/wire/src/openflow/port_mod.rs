//! Changing a port (OF13 clause 7.3.4.3).

use super::header::{begin, finish};
use super::{DecodeError, MessageType, PortConfig, PortFeatures, PortNumber, TransactionId};
use crate::ethernet::MacAddress;
use crate::reader::Reader;

/// Changes a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortMod {
    /// Which port.
    pub port: PortNumber,
    /// Its address, to be sure that it is the right one.
    pub address: MacAddress,
    /// The new configuration.
    pub config: PortConfig,
    /// Which bits of the configuration change.
    pub mask: PortConfig,
    /// What to tell the neighbour; nothing changes if it is zero.
    pub advertise: PortFeatures,
}

impl PortMod {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let port = PortNumber(reader.u32()?);
        reader.skip(4)?;
        let address = MacAddress(reader.array()?);
        reader.skip(2)?;
        let config = PortConfig(reader.u32()?);
        let mask = PortConfig(reader.u32()?);
        let advertise = PortFeatures(reader.u32()?);
        reader.skip(4)?;
        Ok(Self {
            port,
            address,
            config,
            mask,
            advertise,
        })
    }

    /// Appends the message to `out`.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::PortMod, transaction, out);
        message.u32(self.port.0).zeros::<4>();
        message.bytes(&self.address.0).zeros::<2>();
        message.u32(self.config.0).u32(self.mask.0);
        message.u32(self.advertise.0).zeros::<4>();
        finish(&mut message);
    }
}
