//! Reads the names of switches, ports and links.

use api::Endpoint;
use controller::place::{LinkEnds, Place, PortId};
use wire::openflow::DatapathId;

use super::requirement::check_name;
use super::{EndpointDocument, Unusable};
use crate::web::describe::Names;

/// Reads a switch: its name, or its datapath id in hexadecimal.
///
/// # Errors
///
/// If it is neither.
pub fn switch(field: &str, text: &str, names: &Names) -> Result<DatapathId, Unusable> {
    let named = names.named(text).or_else(|| text.parse().ok());
    let reason =
        || format!("`{text}` is no switch: expected its name, or its datapath id in hexadecimal");
    named.ok_or_else(|| Unusable::new(field, reason()))
}

/// Reads a port.
///
/// # Errors
///
/// If its switch cannot be read.
pub fn port(field: &str, place: &Place<String>, names: &Names) -> Result<PortId, Unusable> {
    let datapath = switch(&format!("{field}.datapath"), &place.datapath, names)?;
    Ok(PortId::new(datapath, place.port))
}

/// Reads an endpoint.
///
/// # Errors
///
/// If it is no name, or no port.
pub fn endpoint(
    field: &str,
    endpoint: &EndpointDocument,
    names: &Names,
) -> Result<Endpoint, Unusable> {
    match endpoint {
        EndpointDocument::Host(name) => {
            check_name(&format!("{field}.host"), name)?;
            Ok(Endpoint::Host(name.clone()))
        }
        EndpointDocument::Port(place) => Ok(Endpoint::Port(port(
            &format!("{field}.port"),
            place,
            names,
        )?)),
    }
}

/// Reads the id of a link, as in `1:2-3:1`.
///
/// # Errors
///
/// If it is none.
pub fn link(field: &str, text: &str) -> Result<LinkEnds, Unusable> {
    let reason = || format!("`{text}` is no link: expected its ports, as in `1:2-3:1`");
    text.parse().map_err(|_| Unusable::new(field, reason()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_known_by_name_or_by_its_datapath_id_in_any_usual_form() {
        let names = Names::new([(DatapathId(17), "s1".to_owned())]);
        for (text, id) in [
            ("s1", 17),
            ("0000000000000001", 1),
            ("0x1f", 31),
            ("1F", 31),
        ] {
            assert_eq!(switch("s", text, &names), Ok(DatapathId(id)), "{text}");
        }
        for wrong in ["", "s2", "0x", "+1", "00000000000000001"] {
            assert!(switch("s", wrong, &names).is_err(), "{wrong}");
        }
    }
}
