//! Speaks with the switches of a network that has no controller: greets each when it has
//! connected, and cuts what they say into messages.

use units::Instant;
use wire::openflow::Framer;

use crate::World;

/// One message of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// When the last of it arrived where a controller would be.
    pub at: Instant,
    pub switch: usize,
    pub bytes: Vec<u8>,
}

/// Who speaks with all switches.
#[derive(Debug)]
pub struct Conversation {
    /// What each has begun to say; nothing before it was greeted.
    framers: Vec<Option<Framer>>,
}

impl Conversation {
    /// Begins with so many switches, none of which has connected.
    #[must_use]
    pub fn new(switches: usize) -> Self {
        Self {
            framers: (0..switches).map(|_| None).collect(),
        }
    }

    /// Runs until switches have said something, or until `end`, and returns what they
    /// said. Whoever speaks for the first time is sent its `greeting`. A switch whose bytes
    /// are no messages is not heard any more.
    pub fn hear(
        &mut self,
        world: &mut World,
        end: Instant,
        greeting: impl Fn(usize) -> Vec<u8>,
    ) -> Vec<Heard> {
        let mut heard = Vec::new();
        for told in world.run_until_told(end) {
            let switch = told.switch;
            let framer = self.framers[switch].get_or_insert_with(|| {
                world.tell(told.at, switch, &greeting(switch));
                Framer::new()
            });
            framer.push(&told.bytes);
            while let Ok(Some(bytes)) = framer.next_message() {
                heard.push(Heard {
                    at: told.at,
                    switch,
                    bytes: bytes.to_vec(),
                });
            }
        }
        heard
    }

    /// Returns whether a switch has been greeted since it connected.
    #[must_use]
    pub fn is_greeted(&self, switch: usize) -> bool {
        self.framers[switch].is_some()
    }

    /// Notes that a switch connects anew before it speaks again.
    pub fn forget(&mut self, switch: usize) {
        self.framers[switch] = None;
    }
}
