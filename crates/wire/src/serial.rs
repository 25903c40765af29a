//! Addresses and ids in documents and in records: text where people read it, the bare
//! number elsewhere.

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ethernet::MacAddress;
use crate::openflow::DatapathId;

macro_rules! as_text_or_number {
    ($($id:ident: $number:ty;)*) => {$(
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match serializer.is_human_readable() {
                    true => serializer.collect_str(self),
                    false => self.0.serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                match from.is_human_readable() {
                    true => {
                        let text = Cow::<str>::deserialize(from)?;
                        text.parse().map_err(D::Error::custom)
                    }
                    false => <$number>::deserialize(from).map(Self),
                }
            }
        }
    )*};
}

as_text_or_number! {
    DatapathId: u64;
    MacAddress: [u8; 6];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openflow::PortNumber;
    use crate::openflow::taktos::SignalFault;

    #[test]
    fn ids_are_written_as_people_read_them_and_come_back() {
        let ids = (
            DatapathId(0x1f),
            MacAddress([2, 0, 0, 0, 0, 1]),
            PortNumber(7),
            SignalFault::Forged,
        );

        let text = serde_json::to_string(&ids).unwrap();

        assert_eq!(
            text,
            r#"["000000000000001f","02:00:00:00:00:01",7,"forged"]"#
        );
        assert_eq!(serde_json::from_str::<(_, _, _, _)>(&text).unwrap(), ids);
    }

    #[test]
    fn a_datapath_id_is_read_in_any_usual_form() {
        for (text, id) in [("0000000000000001", 1), ("0x1f", 31), ("1F", 31)] {
            assert_eq!(text.parse(), Ok(DatapathId(id)), "{text}");
        }
        for wrong in ["", "s2", "0x", "+1", "00000000000000001"] {
            assert!(wrong.parse::<DatapathId>().is_err(), "{wrong}");
        }
    }
}
