//! The names by which people know switches, links and places.

use wire::openflow::DatapathId;

use crate::desired::Outcome;
use crate::place::{self, LinkEnds, PortId};

use super::Context;

impl Context {
    pub fn name_of_switch(&self, datapath: DatapathId) -> String {
        match self.parameters.of(datapath).name.as_str() {
            "" => format!("{:x}", datapath.0),
            name => name.to_owned(),
        }
    }

    /// Returns a port with the name of its switch.
    pub fn named(&self, port: PortId) -> place::Place {
        place::Place::new(port, self.name_of_switch(port.datapath))
    }

    /// Says what became of entries.
    pub fn in_words(&self, outcome: Outcome) -> String {
        match outcome {
            Outcome::Confirmed => "confirmed".to_owned(),
            Outcome::Refused { datapath, error } => {
                format!(
                    "switch {} refused: {error:?}",
                    self.name_of_switch(datapath)
                )
            }
            Outcome::Away { datapath } => {
                format!("switch {} is not connected", self.name_of_switch(datapath))
            }
            Outcome::Contested { datapath, with } => {
                let switch = self.name_of_switch(datapath);
                format!("{with} has rules for the same frames at switch {switch}")
            }
            Outcome::TooMany => "there would be too many rules".to_owned(),
        }
    }

    /// Names a link as people do: by what it joins.
    pub fn name_of_link(&self, link: LinkEnds) -> String {
        let [one, other] = link.both().map(|end| self.name_of_switch(end.datapath));
        format!("link {one}-{other}")
    }
}
