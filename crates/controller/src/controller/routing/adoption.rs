//! Takes over the entries that switches have from an instance before this one.
//!
//! Packets of outside routers go on while a controller is started anew, as they do in a router
//! that keeps forwarding while its control plane restarts (RFC 4724 section 4.1). Ways are not
//! looked at before the network has been found, as those through half of it would not be the
//! ones that switches have; then switches are compared with what they should have and sent
//! the difference. What is wanted by nobody goes when the speaker has told all routes and
//! their next hops have answered, or not for as long as is waited for that.

use crate::desired::{Content, EntryOwner};

use super::super::reconciliation::Task;
use super::super::{Context, Network};
use super::Routing;

impl Routing {
    /// Returns whether something has happened to ways at which nobody has looked.
    pub fn has_stale_ways(&self) -> bool {
        !self.stale_hops.is_empty() || !self.stale_peerings.is_empty()
    }

    /// Returns whether ways are not looked at yet: switches have some from before, or may
    /// have, and the network was not found.
    pub fn are_ways_awaited(&self, ctx: &Context, network: &Network) -> bool {
        if ctx.left_routes.are_known || !ctx.is_settling() {
            return false;
        }
        let speaker = self.settings.as_ref().map(|it| it.speaker.datapath);
        let mut ends = self.ingresses.iter().copied().chain(speaker);
        ctx.left_routes.are_there || ends.any(|it| !network.tables.is_synchronised(it))
    }

    /// Returns whether it is known of all entries from before whether they are wanted, and
    /// those that are not may go.
    pub fn is_adoption_over(&self, ctx: &Context, network: &Network) -> bool {
        !ctx.left_routes.are_known
            && self.is_known
            && self.work.is_empty()
            && !self.has_stale_ways()
            && !self.are_ways_awaited(ctx, network)
            && !self.hops.are_some_fresh()
    }

    /// Has switches give up what they have from before and nobody wants.
    pub fn end_adoption(&self, ctx: &mut Context, network: &mut Network) {
        if !self.is_adoption_over(ctx, network) {
            return;
        }
        ctx.left_routes.are_known = true;
        if !std::mem::take(&mut ctx.left_routes.are_there) {
            return;
        }
        let ready: Vec<_> = ctx.sessions.ready().collect();
        for (datapath, _) in ready {
            let (tables, owners) = (&mut network.tables, &network.owners);
            tables.want_task(ctx, owners, datapath, Task::Connect);
        }
    }
}

/// Gives switches a way that had none, or finds out whether they have it from before.
pub fn begin_way(ctx: &mut Context, network: &mut Network, subject: EntryOwner, wanted: Content) {
    match ctx.left_routes.are_there {
        true => network.take_over(ctx, subject, wanted),
        false => network.set_content_at_once(ctx, subject, &wanted),
    }
}
