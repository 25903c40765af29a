//! Speaks with switches of version 1.0 through their translators.
//!
//! What is to be sent is put into their words at the end of each input. What a
//! translator answers in their place is taken like an answer of theirs, at once.

use wire::openflow::Header;

use crate::session::Slot;

use super::{Controller, Southbound};

/// How often answers of translators are taken within one input: each may make the
/// controller say more. What would be answered after that is not.
const MOST_ROUNDS: usize = 16;

impl Controller {
    /// Takes one message of a switch of version 1.0. Returns whether the
    /// connection is still there.
    pub(super) fn take_narrow_message(&mut self, slot: Slot, bytes: &[u8]) -> bool {
        let mut heard = std::mem::take(&mut self.southbound.heard);
        heard.clear();
        let understood = self.ctx.sessions.get_mut(slot).and_then(|session| {
            let translator = session.translator.as_mut()?;
            Some(translator.hear(bytes, &mut heard))
        });
        let is_open = match understood {
            None => false,
            Some(Ok(())) => self.take_heard(slot, &heard),
            Some(Err(error)) => self.take_unreadable(slot, bytes, error.kind()),
        };
        self.southbound.heard = heard;
        is_open
    }

    /// Takes messages that were put into the words of version 1.3. Returns whether
    /// the connection is still there.
    fn take_heard(&mut self, slot: Slot, mut messages: &[u8]) -> bool {
        while let Ok(header) = Header::parse(messages) {
            let Some((message, rest)) = messages.split_at_checked(header.length.into()) else {
                break;
            };
            messages = rest;
            if !self.take_wide_message(slot, message) {
                return false;
            }
        }
        true
    }

    /// Puts all that is to be sent to switches of version 1.0 into their words.
    pub(super) fn translate(&mut self) {
        if self.ctx.sessions.narrow().is_empty() {
            return;
        }
        for _ in 0..MOST_ROUNDS {
            let answers = Southbound::translate_all(&mut self.ctx);
            if answers.is_empty() {
                return;
            }
            for (slot, answer) in answers {
                self.take_heard(slot, &answer);
            }
        }
        Southbound::translate_all(&mut self.ctx);
    }
}
