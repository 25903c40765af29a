//! What the controller tells switches of routes.

use sim::world::Told;
use wire::openflow::multipart::RequestBody;
use wire::openflow::{FlowModCommand, Message, TableId};

use crate::peers::Routed;

/// The priorities in table 0 of what is there for routes.
pub const OF_ROUTES: [u16; 2] = [250, 260];

/// What was told about entries of routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Entries that were added or written over, in words.
    pub added: Vec<String>,
    /// Entries that were deleted.
    pub deleted: Vec<String>,
    /// How often each switch was asked for all entries of prefixes.
    pub questions: Vec<usize>,
}

impl Orders {
    /// Takes what was said to switches since the last time.
    pub fn take(routed: &mut Routed) -> Self {
        let switches = routed.blueprint.parts().switches.len();
        let mut orders = Self {
            questions: vec![0; switches],
            ..Self::default()
        };
        for Told { switch, bytes, .. } in routed.world.orders() {
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
                let (message, behind) = rest.split_at(length);
                orders.note(switch, message);
                rest = behind;
            }
        }
        orders
    }

    fn note(&mut self, switch: usize, message: &[u8]) {
        let (_, message) = Message::parse(message).unwrap();
        match message {
            Message::BundleAdd(add) => self.note(switch, add.message),
            Message::FlowMod(it) => {
                let is_of_routes = OF_ROUTES.contains(&it.priority);
                if it.table == TableId(0) && !is_of_routes {
                    return;
                }
                let what = format!("switch {switch}: {it:?}");
                match it.command {
                    FlowModCommand::Delete | FlowModCommand::DeleteStrict => {
                        self.deleted.push(what);
                    }
                    _ => self.added.push(what),
                }
            }
            Message::MultipartRequest(request) => {
                if let RequestBody::Flow(asked) = request.body
                    && asked.table == TableId(1)
                {
                    self.questions[switch] += 1;
                }
            }
            _ => {}
        }
    }
}
